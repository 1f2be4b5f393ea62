// The bench as the server says it is, and the signals of the trial under way.
import { follow, get, post, Refused } from "./client.svelte";
import type { components } from "./api";
import { unpack } from "./signals";
import type { EventShape, Limit, Panel, SignalsShape } from "./types";

type S = components["schemas"];
export type StationNow = S["StationNow"];
export type Choices = S["Choices"];
export type JobNow = S["JobNow"];
export type ToolForm = S["ToolForm"];
export const HUMAN = "human";

const KEEP_S = 120;
const KEEP_EVENTS = 1000;

interface Started {
  panels: Panel[];
  limits: Limit[];
  units: Record<string, string>;
}

/** Signals that keep coming in, the newest two minutes of them. */
class Rolling {
  t: number[] = [];
  values = new Map<string, { low: number[]; high: number[] }>();

  add(shape: SignalsShape): void {
    const w = unpack(shape);
    for (const t of w.t) this.t.push(t);
    for (const c of w.curves) {
      const kept = this.values.get(c.name) ?? { low: [], high: [] };
      for (const v of c.low) kept.low.push(v);
      for (const v of c.high) kept.high.push(v);
      this.values.set(c.name, kept);
    }
    const from = (this.t.at(-1) ?? 0) - KEEP_S;
    let drop = 0;
    while (drop < this.t.length && this.t[drop]! < from) drop++;
    if (drop > 2000) {
      this.t.splice(0, drop);
      for (const kept of this.values.values()) {
        kept.low.splice(0, drop);
        kept.high.splice(0, drop);
      }
    }
  }
}

export class Bench {
  now = $state.raw<StationNow | null>(null);
  heard = $state(0);
  started = $state.raw<Started | null>(null);
  events = $state.raw<EventShape[]>([]);
  latest = $state(0);
  job = $state.raw<JobNow | null>(null);
  askedAt = 0;
  problem = $state("");
  busy = $state("");
  signals = new Rolling();
  arrivedAt = 0;
  private record = "";

  listen(): () => void {
    return follow("/bench/live", {
      state: (data) => this.take(data as StationNow),
      job: (data) => this.takeJob(data as JobNow),
      begin: (data) => {
        const job = this.job; // the person may have been told before anything is written
        this.clear();
        this.job = job;
        this.started = data as Started;
      },
      ticks: (data) => {
        this.signals.add(data as SignalsShape);
        this.latest = this.signals.t.at(-1) ?? 0;
        this.arrivedAt = performance.now();
      },
      events: (data) => {
        this.events = [...this.events, ...(data as EventShape[])].slice(-KEEP_EVENTS);
      },
    });
  }

  take(now: StationNow): void {
    this.now = now;
    this.heard = Date.now();
    if (now.trial && now.trial.key !== this.record) {
      this.record = now.trial.key;
      this.clear(); // what is told of the new trial comes after its state
    }
  }

  private clear(): void {
    this.started = this.job = null;
    this.signals = new Rolling();
    this.events = [];
    this.latest = 0;
  }

  takeJob(job: JobNow): void {
    if (this.job && job.version < this.job.version) return; // an answer overtaken by the stream
    this.job = job;
    this.askedAt = performance.now() - job.thinking_s * 1000;
  }

  /** Do the next thing in the job; what is wrong with a call is said in `problem`. */
  async decide(tool: string, given: Record<string, unknown>): Promise<boolean> {
    this.problem = "";
    try {
      this.takeJob(await post<JobNow>("/bench/job/decide", { observation_id: this.job?.observation_id ?? 0, tool, arguments: given }));
      return true;
    } catch (error) {
      this.problem = error instanceof Refused ? error.message : String(error);
      return false;
    }
  }

  get key(): string {
    return this.record;
  }

  async act(path: string, body: unknown = {}, doing = "…"): Promise<boolean> {
    this.busy = doing;
    this.problem = "";
    try {
      this.take(await post<StationNow>(`/bench${path}`, body));
      return true;
    } catch (error) {
      this.problem = error instanceof Refused ? error.message : String(error);
      try {
        this.take(await get<StationNow>("/bench"));
      } catch {
        // the stream will tell
      }
      return false;
    } finally {
      this.busy = "";
    }
  }
}
