import type { Playback } from "./playback.svelte";

const FRAME_S = 1 / 30;
const TICK_S = 0.001;
const LEAST = ["info", "notice", "warning", "critical"];

/** What a key does on a record's page. Keys typed into a field are the field's. */
export function keyboard(event: KeyboardEvent, playback: Playback, jump: (by: 1 | -1, least?: string) => void, help: () => void): void {
  const target = event.target as HTMLElement;
  const typing = target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const severity = /^Digit([1-4])$/.exec(event.code);
  if (severity) {
    jump(event.shiftKey ? -1 : 1, LEAST[Number(severity[1]) - 1]);
    event.preventDefault();
    return;
  }
  if (event.key === " " && target !== document.body && target.matches("button:focus-visible, input, a")) return; // the button's
  const does: Record<string, () => void> = {
    " ": () => playback.toggle(),
    ",": () => playback.step(-FRAME_S),
    ".": () => playback.step(FRAME_S),
    ";": () => playback.step(-TICK_S),
    ":": () => playback.step(TICK_S),
    ArrowLeft: () => playback.step(event.shiftKey ? -10 : -1),
    ArrowRight: () => playback.step(event.shiftKey ? 10 : 1),
    "[": () => jump(-1),
    "]": () => jump(1),
    "+": () => playback.zoom(0.5),
    "=": () => playback.zoom(0.5),
    "-": () => playback.zoom(2),
    "0": () => playback.showAll(),
    "<": () => playback.faster(-1),
    ">": () => playback.faster(1),
    Home: () => playback.seek(playback.from),
    End: () => playback.seek(playback.length),
    "?": help,
  };
  const act = does[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
