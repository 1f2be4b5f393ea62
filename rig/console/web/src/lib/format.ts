/** Trial time as h:mm:ss.mmm, without the hours where there are none. */
export function clock(s: number | null | undefined, digits = 3): string {
  if (s === null || s === undefined || !Number.isFinite(s)) return "–";
  const sign = s < 0 ? "-" : "";
  const whole = Math.abs(s);
  const unit = 10 ** digits;
  const rounded = Math.round(whole * unit) / unit;
  const h = Math.floor(rounded / 3600);
  const m = Math.floor((rounded % 3600) / 60);
  const rest = rounded % 60;
  const seconds = rest.toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return h ? `${sign}${h}:${String(m).padStart(2, "0")}:${seconds}` : `${sign}${m}:${seconds}`;
}

/** A duration in the unit a person would choose. */
export function duration(s: number | null | undefined): string {
  if (s === null || s === undefined || !Number.isFinite(s)) return "–";
  if (s < 90) return `${trim(s)} s`;
  if (s < 7200) return `${trim(s / 60)} min`;
  return `${trim(s / 3600)} h`;
}

const trim = (x: number): string => String(Number(x.toPrecision(3)));

export function value(x: number | null | undefined, unit = ""): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "unknown";
  if ((unit === "m" || unit === "m/s") && Math.abs(x) < 1) return `${number(1000 * x)} m${unit}`;
  return unit === "1" || unit === "" ? number(x) : `${number(x)} ${readable(unit)}`;
}

export function number(x: number): string {
  const size = Math.abs(x);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}

export const count = (n: number): string => n.toLocaleString("en-GB").replaceAll(",", "\u202f");

export const words = (text: string): string => text.replaceAll("_", " ").replaceAll("-", " ");

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A moment today, as the clock of whoever looks shows it. */
export const until = (utc: string | null | undefined): string =>
  utc ? new Date(utc).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }) : "–";

/** Units as people write them; channels spell them so that any keyboard has them. */
export const readable = (text: string): string => text.replaceAll("degC", "°C");
