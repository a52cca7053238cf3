"use strict";
// The text below a drawing whose nodes are too small for numbers: the node that was tapped.
const picked = new Map();
const describe = drawing => {
  if (picked.has(drawing)) {
    drawing.parentElement.querySelector(".hint p").textContent =
      picked.get(drawing).lastChild.textContent + ".";
  }
};
for (const drawing of document.querySelectorAll(".drawing svg")) {
  drawing.addEventListener("click", event => {
    const distance = node => {
      const box = node.firstChild.getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    };
    const nodes = Array.from(drawing.querySelectorAll(".nodes > g"));
    picked.set(drawing, nodes.reduce((one, other) => distance(other) < distance(one) ? other : one));
    describe(drawing);
  });
}
// One player for each element with steps: a slider, two buttons, and the nodes of two graphs.
for (const player of document.querySelectorAll("[data-player]")) {
  const data = JSON.parse(player.querySelector("script").textContent);
  const slider = player.querySelector("input");
  const output = player.querySelector("output");
  const drawings = player.querySelectorAll("svg:not(.chart)");
  const marker = player.querySelector(".marker");
  const show = () => {
    const step = slider.valueAsNumber - 1;
    const fills = data.fills[data.numbers[step]];
    [data.first, data.second].forEach((steps, place) => {
      const colors = steps[step];
      const lines = drawings[place].parentElement.querySelectorAll("li");
      drawings[place].querySelectorAll(".nodes > g").forEach((node, number) => {
        const [fill, ink] = fills[colors[number]];
        const name = node.dataset.name;
        const [circle, label, title] = node.children;
        circle.setAttribute("fill", fill);
        label.setAttribute("fill", ink);
        label.textContent = (name ? name + ", " : "") + (colors[number] + 1);
        title.textContent = title.textContent.replace(/[0-9]+$/, colors[number] + 1);
        lines[number].textContent = title.textContent;
      });
      describe(drawings[place]);
      drawings[place].querySelector("desc").textContent =
        "Colors of the nodes in their order: " + colors.map(color => color + 1).join(", ");
    });
    output.textContent = data.texts[step];
    // Short, because the output is announced too.
    slider.setAttribute("aria-valuetext", (step + 1) + " of " + data.texts.length);
    if (marker) {
      marker.setAttribute("cx", data.points[step][0]);
      marker.setAttribute("cy", data.points[step][1]);
    }
    const [previous, next] = player.querySelectorAll("button");
    previous.disabled = step === 0;
    next.disabled = step === data.texts.length - 1;
  };
  slider.addEventListener("input", show);
  player.querySelectorAll("button").forEach((button, place) =>
    button.addEventListener("click", () => { place ? slider.stepUp() : slider.stepDown(); show(); }));
  player.querySelector(".controls").hidden = false;
  show();
}
