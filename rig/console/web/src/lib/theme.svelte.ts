export type Theme = "system" | "light" | "dark";

let stored: string | null = null;
try {
  stored = localStorage.getItem("runrig.theme");
} catch {
  // a page from a file may have no storage
}
export const theme = $state<{ chosen: Theme; dark: boolean }>({
  chosen: stored === "light" || stored === "dark" ? stored : "system",
  dark: false,
});
const system = matchMedia("(prefers-color-scheme: dark)");

export function applyTheme(): void {
  theme.dark = theme.chosen === "dark" || (theme.chosen === "system" && system.matches);
  document.documentElement.dataset.theme = theme.dark ? "dark" : "light";
}

export function chooseTheme(chosen: Theme): void {
  theme.chosen = chosen;
  localStorage.setItem("runrig.theme", chosen);
  applyTheme();
}

system.addEventListener("change", applyTheme);

/** Colours of curves, told apart by people with any colour vision (after Okabe and Ito). */
export function curveColours(): string[] {
  return theme.dark
    ? ["#6cb8f0", "#f0b24d", "#4fc9a1", "#e693bd", "#f0855a", "#a9b6ff", "#d8d26a", "#b7bcc6"]
    : ["#0067a8", "#b26a00", "#007a57", "#a83f7b", "#c44601", "#4a55b5", "#75700e", "#555b66"];
}

export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
