// Signals as they come from the server: lowest and highest value at each time, gaps where nobody knows.
import type { SignalsShape } from "./types";

export interface Curve {
  name: string;
  low: Float32Array;
  high: Float32Array;
}

export interface Window {
  t: Float64Array;
  curves: Curve[];
  exact: boolean;
}

export function bytes(text: string): ArrayBuffer {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

export function unpack(shape: SignalsShape): Window {
  return {
    t: new Float64Array(bytes(shape.t_s)),
    curves: shape.curves.map((c) => {
      const low = new Float32Array(bytes(c.low));
      return { name: c.name, low, high: c.high === null ? low : new Float32Array(bytes(c.high)) };
    }),
    exact: shape.exact,
  };
}

export interface Gap {
  start_s: number;
  end_s: number;
}

export type Column = (number | null)[];

/** Columns for a plot: every step drawn from its lowest to its highest value, so that no peak is lost. */
export function columns(window: Window, names: string[], scale: number, gaps: Gap[]): [number[], ...Column[]] {
  const n = window.t.length;
  const twice = !window.exact;
  const x: number[] = [];
  const picked = names.map((name) => window.curves.find((c) => c.name === name));
  const ys: Column[] = names.map(() => []);
  let g = 0;
  for (let i = 0; i < n; i++) {
    const t = window.t[i]!;
    while (g < gaps.length && gaps[g]!.end_s < t) {
      const gap = gaps[g]!;
      if (i > 0 && gap.start_s >= window.t[0]!) {
        x.push((gap.start_s + gap.end_s) / 2);
        for (const y of ys) y.push(null);
      }
      g++;
    }
    x.push(t);
    if (twice) x.push(t);
    for (let k = 0; k < picked.length; k++) {
      const curve = picked[k];
      const low = curve?.low[i] ?? NaN;
      const high = curve?.high[i] ?? NaN;
      ys[k]!.push(Number.isNaN(low) ? null : low * scale);
      if (twice) ys[k]!.push(Number.isNaN(high) ? null : high * scale);
    }
  }
  return [x, ...ys];
}

/** The value at a time: the step that had begun by then. */
export function at(window: Window, name: string, t: number): { low: number; high: number } | null {
  const curve = window.curves.find((c) => c.name === name);
  if (!curve || window.t.length === 0 || t < window.t[0]!) return null;
  let low = 0;
  let high = window.t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (window.t[middle]! <= t) low = middle;
    else high = middle - 1;
  }
  return { low: curve.low[low]!, high: curve.high[low]! };
}
