"use strict";
// A gradient meets float16: IEEE 754 binary16, ties to even.
(() => {
  const figure = document.getElementById("meets");
  if (!figure) return;
  const part = (name) => document.getElementById("meets-" + name);

  const toEven = (value) => {
    const below = Math.floor(value);
    const rest = value - below;
    return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  };
  // The 16 bits of a magnitude. Scaling by powers of two is exact, so each number is rounded once.
  const bitsOf = (magnitude) => {
    if (Number.isNaN(magnitude)) return 0x7e00;
    if (magnitude >= 65520) return 0x7c00;
    if (magnitude < 2 ** -14) return toEven(magnitude * 2 ** 24);
    let power = Math.floor(Math.log2(magnitude));
    if (2 ** power > magnitude) power -= 1;
    if (2 ** (power + 1) <= magnitude) power += 1;
    return ((power + 15) << 10) + toEven(magnitude / 2 ** (power - 10)) - 1024;
  };
  const valueOf = (bits) => {
    const power = bits >> 10;
    const fraction = bits & 0x3ff;
    if (power === 31) return fraction ? NaN : Infinity;
    return power === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (power - 25);
  };

  const first = Number(figure.dataset.first);
  const last = first + Number(figure.dataset.width) / 4;
  const percent = (power) => Math.min(100, Math.max(0, (100 * (power - first)) / (last - first)));
  const written = (value) => (value === 0 ? "0" : value >= 1e-3 && value < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(3));
  const fate = (product, bits) => {
    const value = valueOf(bits);
    if (value === 0) return "becomes 0: lost.";
    if (value === Infinity) return "becomes infinity: the update is skipped and the loss scale halved.";
    const error = Math.abs(value - product) / product;
    const loss = bits < 0x400 ? ", with fewer digits than float16 has elsewhere" : "";
    return "survives as " + written(value) + loss + (error ? " (off by " + Number((100 * error).toPrecision(2)) + "%)." : ".");
  };

  const show = () => {
    const power = Number(part("gradient").value);
    const steps = Number(part("scale").value);
    const gradient = 2 ** power;
    const product = gradient * 2 ** steps;
    const bits = bitsOf(product);
    part("magnitude").textContent = written(gradient);
    part("factor").textContent = (2 ** steps).toLocaleString("en") + " (2^" + steps + ")";
    part("gradient").setAttribute("aria-valuetext", written(gradient));
    part("scale").setAttribute("aria-valuetext", (2 ** steps).toLocaleString("en"));
    const text = bits.toString(2).padStart(16, "0");
    const groups = [["sign", text.slice(0, 1)], ["exponent", text.slice(1, 6)], ["fraction", text.slice(6)]];
    part("bits").replaceChildren(...groups.map(([name, digits]) => {
      const group = document.createElement("span");
      group.className = "bits-" + name;
      const boxes = document.createElement("span");
      boxes.append(...Array.from(digits, (digit) => {
        const box = document.createElement("span");
        box.textContent = digit;
        box.className = digit === "1" ? "bit one" : "bit";
        return box;
      }));
      const label = document.createElement("small");
      label.textContent = name;
      group.append(boxes, label);
      return group;
    }));
    part("bits").setAttribute("aria-label", "bits: " + groups.map(([name, digits]) => name + " " + digits).join(", "));
    part("fate").textContent = (steps ? "Times the scale it is " + written(product) + " and " : "As float16 it ") + fate(product, bits);
    part("needle").style.left = percent(power) + "%";
    part("kept").style.left = percent(-25 - steps) + "%";
    part("kept").style.right = 100 - percent(16 - steps) + "%";
    Object.assign(figure.dataset, { product: String(product), bits: String(bits), half: String(valueOf(bits)) });
  };
  part("gradient").addEventListener("input", show);
  part("scale").addEventListener("input", show);
  show();
})();
