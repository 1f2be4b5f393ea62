// A record inside the page itself: what `runrig export --html` writes.
import { unpack, type Window } from "./signals";
import type { EventQuery, Source } from "./source";
import type { Evidence, EventShape, EventsPage, SignalsShape, Story } from "./types";

interface Exported {
  story: Story;
  evidence: Evidence;
  events: EventShape[];
  signals: { start_s: number; end_s: number; signals: SignalsShape }[];
}

export function exported(): Exported | null {
  const text = document.getElementById("runrig-record")?.textContent;
  return text ? (JSON.parse(text) as Exported) : null;
}

export function embedded(data: Exported): Source {
  const lots = data.signals.map((s) => ({ ...s, window: unpack(s.signals) }));
  return {
    live: false,
    story: async () => data.story,
    evidence: async () => data.evidence,
    signals: async (_channels, start, end) => {
      const finest = lots.filter((l) => l.start_s <= start + 0.5 && l.end_s >= end - 0.5).sort((a, b) => a.end_s - a.start_s - (b.end_s - b.start_s))[0] ?? lots[0];
      return finest ? cut(finest.window, start, end) : { t: new Float64Array(), curves: [], exact: true };
    },
    events: async (wanted) => chosen(data.events, wanted),
    scene: () => Promise.reject(new Error("not in this file")),
    frames: () => Promise.reject(new Error("not in this file")),
    frameAddress: () => "",
  };
}

function cut(w: Window, start: number, end: number): Window {
  let a = w.t.findIndex((t) => t >= start);
  if (a < 0) a = w.t.length;
  let b = w.t.findIndex((t) => t > end);
  if (b < 0) b = w.t.length;
  a = Math.max(0, a - 1);
  b = Math.min(w.t.length, b + 1);
  const curves = w.curves.map((c) => {
    const low = c.low.subarray(a, b);
    return { name: c.name, low, high: c.high === c.low ? low : c.high.subarray(a, b) };
  });
  return { t: w.t.subarray(a, b), curves, exact: w.exact };
}

function chosen(events: EventShape[], wanted: EventQuery): EventsPage {
  const kept = events.filter((e) => !wanted.severities || wanted.severities.includes(e.severity));
  const limit = wanted.limit ?? 100;
  let offset = wanted.offset ?? 0;
  if (wanted.at !== undefined) {
    const first = kept.findIndex((e) => e.t_s >= wanted.at!);
    offset = Math.max(0, (first < 0 ? kept.length : first) - Math.floor(limit / 2));
  }
  return { total: kept.length, offset, events: kept.slice(offset, offset + limit) };
}
