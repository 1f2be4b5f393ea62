import { mount } from "svelte";
import App from "./App.svelte";
import Player from "./pages/Player.svelte";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { embedded, exported } from "./lib/embedded";
import { applyTheme } from "./lib/theme.svelte";

applyTheme();
const target = document.getElementById("app");
const data = exported();
if (target && data) mount(Player, { target, props: { key: "", source: embedded(data) } });
else if (target) mount(App, { target });
