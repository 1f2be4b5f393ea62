// Where a record's page gets its data: the server, or the file it was exported into.
import { get, query } from "./client.svelte";
import { unpack, type Window } from "./signals";
import type { Evidence, EventsPage, Frames, ScenePoses, SignalsShape, Story } from "./types";

export interface EventQuery {
  offset?: number;
  limit?: number;
  kinds?: string[];
  severities?: string[];
  start?: number;
  end?: number;
  at?: number;
}

export interface Source {
  readonly live: boolean;
  story(): Promise<Story>;
  evidence(): Promise<Evidence>;
  signals(channels: string[], start: number, end: number, points: number, signal?: AbortSignal): Promise<Window>;
  events(wanted: EventQuery, signal?: AbortSignal): Promise<EventsPage>;
  scene(start: number, end: number, n: number): Promise<ScenePoses>;
  frames(camera: string): Promise<Frames>;
  frameAddress(camera: string, number: number): string;
}

export function served(key: string): Source {
  const base = `/trials/${encodeURIComponent(key)}`;
  return {
    live: true,
    story: () => get(base),
    evidence: () => get(`${base}/evidence`),
    signals: async (channels, start, end, points, signal) =>
      unpack(await get<SignalsShape>(`${base}/signals?${query({ channels: channels.join(","), start, end, points })}`, signal)),
    events: (wanted, signal) => get(`${base}/events?${query({ ...wanted })}`, signal),
    scene: (start, end, n) => get(`${base}/scene?${query({ start, end, n })}`),
    frames: (camera) => get(`${base}/cameras/${encodeURIComponent(camera)}`),
    frameAddress: (camera, number) => `/api${base}/cameras/${encodeURIComponent(camera)}/${number}`,
  };
}
