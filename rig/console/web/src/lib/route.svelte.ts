import { untrack } from "svelte";

// Where we are: everything behind the # of the address. The token never stays there.
export interface Place {
  path: string[];
  params: URLSearchParams;
}

function read(): Place {
  const [path = "", params = ""] = location.hash.replace(/^#/, "").split("?");
  return { path: path.split("/").filter(Boolean), params: new URLSearchParams(params) };
}

export const place = $state<{ now: Place }>({ now: read() });

addEventListener("hashchange", () => {
  place.now = read();
});

export function go(path: string, params?: Record<string, string>): void {
  const tail = params && Object.keys(params).length ? `?${new URLSearchParams(params)}` : "";
  location.hash = `${path}${tail}`;
}

/** Change the parameters of this place without a new step back. */
export function note(params: Record<string, string | null>): void {
  const now = untrack(() => place.now); // noting where we are is no reason to do it again
  if (read().path.join("/") !== now.path.join("/")) return; // on the way elsewhere: the event that says so is still to come
  const next = new URLSearchParams(now.params);
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const tail = next.size ? `?${next}` : "";
  history.replaceState(null, "", `#/${now.path.join("/")}${tail}`);
  place.now = { path: now.path, params: next };
}

/** Take the token out of the address at once, so that neither history nor a screen shows it. */
export function takeToken(): string {
  const match = /token=([\w-]+)/.exec(location.hash);
  if (!match?.[1]) return "";
  const rest = location.hash.replace(/[?&#]?token=[\w-]+/, "").replace(/^#?/, "#");
  history.replaceState(null, "", rest === "#" ? "#/" : rest);
  place.now = read();
  return match[1];
}
