import { call, get, post } from "./client.svelte";
import type { components } from "./api";
import type { Story } from "./types";

type S = components["schemas"];
export type ReviewNow = S["ReviewNow"];
export type ReviewShape = S["ReviewShape"];
export type Label = S["Label"];
export type Queue = S["Queue"];
export type Statistics = S["Statistics"];
export type CriterionLabel = S["CriterionLabel"];

export const MARKS = [
  { name: "signal_s", key: "s", text: "first sufficient signal", tone: "signal" },
  { name: "useful_s", key: "u", text: "last useful moment", tone: "useful" },
  { name: "harm_s", key: "h", text: "harm done", tone: "harm" },
] as const;
export type MarkName = (typeof MARKS)[number]["name"];
export const WHATS = [
  { name: "none", text: "nothing" },
  { name: "mistake", text: "mistake, no effect" },
  { name: "harm", text: "harm effected" },
  { name: "unclear", text: "cannot tell" },
] as const;

export function emptyLabel(story: Story): Label {
  const criteria: Record<string, CriterionLabel> = {};
  for (const c of story.rubric.criteria) criteria[c.id] = { what: "none", signal_s: null, useful_s: null, harm_s: null };
  return { rubric: story.rubric.digest, done: "unclear", criteria, confidence: 3, rationale: "" };
}

export const reviewOf = (key: string): Promise<ReviewNow> => get(`/trials/${key}/review`);
export const beginReview = (key: string): Promise<ReviewNow> => post(`/trials/${key}/review/open`);
export const saveReview = (key: string, label: Label, reason: string): Promise<ReviewNow> => call("PUT", `/trials/${key}/review`, { label, reason });
export const lockReview = (key: string): Promise<ReviewNow> => post(`/trials/${key}/review/lock`);
export const retractReview = (key: string, reason: string): Promise<ReviewNow> => post(`/trials/${key}/review/retract`, { reason });
export const beginSettling = (key: string): Promise<ReviewNow> => post(`/trials/${key}/adjudication/open`);
export const settle = (key: string, label: Label, reason: string): Promise<ReviewNow> => post(`/trials/${key}/adjudication`, { label, reason });
