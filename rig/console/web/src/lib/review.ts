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
export type SpokenLabel = S["SpokenLabel"];

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
  return { rubric: story.rubric.digest, done: "unclear", criteria, speech: emptySpeech(story), confidence: 3, rationale: "", ranges: [] };
}

/** What the agent said, for the reviewer to point at. */
export const spokenLines = (story: Story): S["Mark"][] => story.lanes.speech.filter((m) => m.text.startsWith(AGENT));
export const AGENT = "agent: ";
export const FOUND = [
  { name: "none", text: "nothing of the kind" },
  { name: "mistake", text: "said it" },
  { name: "unclear", text: "cannot tell" },
] as const;

/** Nothing to label where the agent said nothing. */
export function emptySpeech(story: Story): Record<string, SpokenLabel> {
  const speech: Record<string, SpokenLabel> = {};
  if (spokenLines(story).length) for (const c of story.rubric.speech) speech[c.id] = { found: "none", event: null };
  return speech;
}

export const reviewOf = (key: string): Promise<ReviewNow> => get(`/trials/${key}/review`);
export const beginReview = (key: string): Promise<ReviewNow> => post(`/trials/${key}/review/open`);
export const saveReview = (key: string, label: Label, reason: string): Promise<ReviewNow> => call("PUT", `/trials/${key}/review`, { label, reason });
export const lockReview = (key: string): Promise<ReviewNow> => post(`/trials/${key}/review/lock`);
export const retractReview = (key: string, reason: string): Promise<ReviewNow> => post(`/trials/${key}/review/retract`, { reason });
export const beginSettling = (key: string): Promise<ReviewNow> => post(`/trials/${key}/adjudication/open`);
export const settle = (key: string, label: Label, reason: string): Promise<ReviewNow> => post(`/trials/${key}/adjudication`, { label, reason });
