// Colours and shapes. The six colours of classes are Okabe and Ito's, distinguishable with colour blindness.

export const LIGHT = {
  classes: ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#C9B800"],
  ink: "#1d2026", muted: "#666b73", rule: "#e2dfd8", wrong: "#D55E00", right: "#007a59",
  plane: "#fffefc", accent: "#0072B2", soft: "#efede8",
};
export const DARK = {
  classes: ["#3f9fdc", "#E69F00", "#12b488", "#d98db8", "#8fd0f5", "#F0E442"],
  ink: "#e9e7e2", muted: "#a0a5ad", rule: "#2d3138", wrong: "#f0803c", right: "#35b38d",
  plane: "#15181b", accent: "#4fa8dc", soft: "#22262b",
};
export const SHAPES = [
  "M-5.2 0A5.2 5.2 0 1 0 5.2 0A5.2 5.2 0 1 0 -5.2 0Z",
  "M0 -6.2L5.7 4.3H-5.7Z",
  "M-4.7 -4.7H4.7V4.7H-4.7Z",
  "M0 -6.4L6.1 0L0 6.4L-6.1 0Z",
  "M0 6.2L5.7 -4.3H-5.7Z",
  "M-2 -5.8H2V-2H5.8V2H2V5.8H-2V2H-5.8V-2H-2Z",
];
// Names of the classes if the data have none.
export const COLOURS = ["blue", "orange", "green", "purple", "sky", "yellow"];

export function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
