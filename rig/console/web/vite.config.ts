import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One script and one style sheet with fixed names: what is committed can be compared with what is built.
export default defineConfig({
  plugins: [svelte()],
  base: "./",
  build: {
    outDir: "../static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    target: "es2022",
    rollupOptions: {
      output: {
        entryFileNames: "assets/app.js",
        assetFileNames: (file) => (file.names[0]?.endsWith(".css") ? "assets/app.css" : "assets/[name][extname]"),
        codeSplitting: false,
      },
    },
  },
});
