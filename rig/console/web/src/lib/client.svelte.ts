// Talking to the server: one place that knows about sessions, errors and whether anybody answers.
import type { Me } from "./types";

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

interface Link {
  online: boolean;
  lostAt: number | null;
}

export const link = $state<Link>({ online: true, lostAt: null });
/** `ended`: the server no longer knows who was signed in, as after a restart; the link's token is spent. */
export const session = $state<{ me: Me | null; known: boolean; ended: boolean }>({ me: null, known: false, ended: false });

function heard(): void {
  link.online = true;
  link.lostAt = null;
}

export function lost(): void {
  if (link.online) {
    link.online = false;
    link.lostAt = Date.now();
  }
}

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && session.me) headers["x-runrig-csrf"] = session.me.csrf;
  let answer: Response;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      signal: signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    lost();
    throw new Refused(0, "The console does not answer. What runs goes on without this page.");
  }
  heard();
  if (answer.ok) return (await answer.json()) as T;
  if (answer.status === 401) {
    if (session.me) session.ended = true;
    session.me = null;
  }
  throw new Refused(answer.status, await reason(answer));
}

async function reason(answer: Response): Promise<string> {
  try {
    const said = (await answer.json()) as { detail?: unknown };
    if (typeof said.detail === "string") return said.detail;
    if (Array.isArray(said.detail)) return said.detail.map((d: { msg?: string }) => d.msg ?? "").join("; ");
  } catch {
    // not JSON: fall through
  }
  return `The console answered ${answer.status}.`;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown = {}): Promise<T> => call<T>("POST", path, body);

export async function whoAmI(): Promise<void> {
  try {
    session.me = await get<Me>("/session");
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 0) throw error;
    session.me = null;
  } finally {
    session.known = true;
  }
}

export async function signIn(token: string, name: string): Promise<void> {
  session.me = await post<Me>("/session", { token, name });
}

export async function signOut(): Promise<void> {
  await call("DELETE", "/session");
  session.me = null;
}

export const can = (what: string): boolean => session.me?.may.includes(what) ?? false;

export function query(values: Record<string, string | number | string[] | undefined>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) made.append(name, String(one));
  }
  return made.toString();
}

/** Server-sent events that come back by themselves; `after` is called with each, `broken` when the line drops. */
export function follow(path: string, on: Record<string, (data: unknown) => void>, broken?: () => void): () => void {
  const source = new EventSource(`/api${path}`);
  source.onopen = heard;
  source.onerror = () => {
    lost();
    broken?.();
  };
  for (const [name, take] of Object.entries(on)) {
    source.addEventListener(name, (event) => {
      heard();
      take(JSON.parse((event as MessageEvent<string>).data));
    });
  }
  return () => source.close();
}
