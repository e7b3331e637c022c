// The shade under the points: probabilities, votes or curved regions, as a picture of few pixels.

import { rgb } from "./palette.js";

const COARSE = 4;  // pixels of the screen per pixel of the picture

export function drawShade(plane, animation, frame) {
  const { canvas, lab } = plane, shade = animation && animation.shade, shown = lab.layers.shows("probability");
  const votes = shade === "votes" && shown ? lab.votes(plane.main) : null;
  // Regions with straight edges are polygons; those of transformed features are shaded here.
  if (!votes && !(shade === "probability" && shown) && !(shade === "region" && animation.lift)) {
    if (canvas.dataset.used) { canvas.width = 1; canvas.height = 1; delete canvas.dataset.used; }
    return;
  }
  canvas.dataset.used = "yes";
  const colours = animation.labels.map((label) => rgb(lab.palette.classes[label % 6])), most = lab.dark ? 0.44 : 0.32;
  if (votes) shadeVotes(plane, votes, colours, most);
  else shadeProbabilities(plane, animation, frame, colours, most);
}

function shadeVotes(plane, votes, colours, most) {
  const canvas = plane.canvas, context = canvas.getContext("2d"), image = new ImageData(votes.nx, votes.ny);
  for (let j = 0; j < votes.ny; j++) for (let i = 0; i < votes.nx; i++) {
    const from = j * votes.nx + i, to = 4 * ((votes.ny - 1 - j) * votes.nx + i);
    const colour = colours[votes.winner[from]];
    image.data.set([...colour, 255 * (0.05 + most * (votes.strength[from] / 100))], to);
  }
  const [l, r, b, t] = votes.view.map((v, i) => (i < 2 ? plane.X(v) : plane.Y(v)));
  const small = new OffscreenCanvas(votes.nx, votes.ny);
  small.getContext("2d").putImageData(image, 0, 0);
  canvas.width = Math.max(2, Math.round(plane.width / COARSE));
  canvas.height = Math.max(2, Math.round(plane.height / COARSE));
  context.imageSmoothingQuality = "high";
  context.drawImage(small, l / COARSE, t / COARSE, (r - l) / COARSE, (b - t) / COARSE);
}

function shadeProbabilities(plane, animation, frame, colours, most) {
  const canvas = plane.canvas, context = canvas.getContext("2d");
  const wide = Math.max(2, Math.round(plane.width / COARSE)), high = Math.max(2, Math.round(plane.height / COARSE));
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const image = context.createImageData(wide, high), K = colours.length, scores = new Float64Array(K);
  const scorer = animation.scorer(frame), regions = animation.shade === "region";
  for (let j = 0, at = 0; j < high; j++) {
    const y = plane.y((j + 0.5) * (plane.height / high));
    for (let i = 0; i < wide; i++, at += 4) {
      scorer(plane.x((i + 0.5) * (plane.width / wide)), y, scores);
      if (regions) {
        image.data.set([...colours[animation.winner(scores)], 110 * most / 0.32], at);
        continue;
      }
      let top = -Infinity;
      for (let k = 0; k < K; k++) if (scores[k] > top) top = scores[k];
      let sum = 0, red = 0, green = 0, blue = 0;
      for (let k = 0; k < K; k++) {
        const e = Math.exp(scores[k] - top);
        sum += e; red += e * colours[k][0]; green += e * colours[k][1]; blue += e * colours[k][2];
      }
      image.data[at] = red / sum; image.data[at + 1] = green / sum; image.data[at + 2] = blue / sum;
      image.data[at + 3] = 255 * (0.04 + most * ((1 / sum - 1 / K) / (1 - 1 / K)));
    }
  }
  context.putImageData(image, 0, 0);
}
