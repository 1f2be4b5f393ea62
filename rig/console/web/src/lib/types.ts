import type { components } from "./api";

type S = components["schemas"];
export type Me = S["Me"];
export type TrialLine = S["TrialLine"];
export type Trials = S["Trials"];
export type Story = S["Story"];
export type Panel = S["Panel"];
export type Limit = S["LimitShape"];
export type Evidence = S["EvidenceShape"];
export type SignalsShape = S["Signals"];
export type EventShape = S["EventShape"];
export type EventsPage = S["Events"];
export type ScenePoses = S["ScenePoses"];
export type Frames = S["Frames"];
export type Finding = S["FindingShape"];
export type Severity = "info" | "notice" | "warning" | "critical";
export const SEVERITIES: Severity[] = ["info", "notice", "warning", "critical"];
