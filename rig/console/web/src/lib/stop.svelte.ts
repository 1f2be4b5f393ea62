// The stop of this page: a request to the bench, and what came of it.
import { call, Refused } from "./client.svelte";

export const stopping = $state<{ said: string; failed: boolean; busy: boolean }>({ said: "", failed: false, busy: false });

export async function stop(): Promise<void> {
  stopping.busy = true;
  const asked = performance.now();
  performance.mark("runrig-stop-pressed");
  try {
    const done = await call<{ safe_after_s: number | null }>("POST", "/bench/stop", {});
    performance.mark("runrig-stop-answered");
    stopping.failed = done.safe_after_s === null;
    stopping.said = stopping.failed
      ? "Asked to stop; nothing has answered yet. Use the hardware stop."
      : `Stopped. Safe ${((done.safe_after_s ?? 0) * 1000).toFixed(0)} ms after the request, answered in ${(performance.now() - asked).toFixed(0)} ms.`;
  } catch (error) {
    stopping.failed = true;
    stopping.said = `Not stopped: ${error instanceof Refused ? error.message : String(error)} Use the hardware stop.`;
  } finally {
    stopping.busy = false;
  }
}
