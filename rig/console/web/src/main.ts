import { mount } from "svelte";
import App from "./App.svelte";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { applyTheme } from "./lib/theme.svelte";

applyTheme();
const target = document.getElementById("app");
if (target) mount(App, { target });
