// One clock for everything on a record's page: the playhead, and the window of time that is drawn.
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const SHORTEST_S = 0.01;

export class Playback {
  t = $state(0);
  start = $state(0);
  end = $state(1);
  playing = $state(false);
  speed = $state(1);
  hover = $state<number | null>(null);
  private last = 0;

  constructor(
    readonly length: number,
    readonly from = 0,
  ) {
    this.end = Math.max(length, from + SHORTEST_S);
    this.start = from;
    this.t = from;
  }

  get span(): number {
    return this.end - this.start;
  }

  seek(t: number): void {
    this.t = Math.min(this.length, Math.max(this.from, t));
    if (this.t < this.start || this.t > this.end) this.centre(this.t);
  }

  step(seconds: number): void {
    this.playing = false;
    this.seek(this.t + seconds);
  }

  show(start: number, end: number): void {
    const span = Math.min(Math.max(end - start, SHORTEST_S), Math.max(this.length - this.from, SHORTEST_S));
    const first = Math.min(Math.max(this.from, start), Math.max(this.from, this.length - span));
    this.start = first;
    this.end = first + span;
  }

  centre(t: number, span = this.span): void {
    this.show(t - span / 2, t + span / 2);
  }

  zoom(factor: number, around = this.t): void {
    const span = this.span * factor;
    const share = (around - this.start) / this.span;
    this.show(around - share * span, around - share * span + span);
  }

  showAll(): void {
    this.show(this.from, this.length);
  }

  toggle(): void {
    if (!this.playing && this.t >= this.length) this.seek(this.from);
    this.playing = !this.playing;
    this.last = 0;
  }

  /** Move on by the time since the last frame. */
  tick(now: number): void {
    if (!this.playing) return;
    if (this.last) {
      const next = this.t + ((now - this.last) / 1000) * this.speed;
      if (next >= this.length) {
        this.playing = false;
        this.seek(this.length);
      } else {
        this.t = next;
        if (next > this.end || next < this.start) this.show(next - this.span * 0.05, next + this.span * 0.95);
      }
    }
    this.last = now;
  }

  faster(by: 1 | -1): void {
    const at = SPEEDS.indexOf(this.speed);
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at + by))] ?? 1;
  }
}
