// Draws requests a second as an SVG, one bar per target, readable on light and dark pages.

const WIDTH = 640;
const LABEL_WIDTH = 150;
const VALUE_WIDTH = 120;
const ROW = 34;
const BAR = 18;
const TOP = 44;
const BARS = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
const OWN = 'Tidegate';
/** A bar this many times as long as our own fills the width. Longer ones are drawn broken. */
const LONGEST = 1.6;

const text = (x, y, content, more = '') => `<text x="${x}" y="${y}" ${more}>${content}</text>`;

/** Two slanted cuts near the end of a bar: it is longer than it is drawn. */
const cuts = (y) =>
  [40, 52]
    .map((fromEnd) => {
      const x = LABEL_WIDTH + BARS - fromEnd;
      return `<path class="cut" d="M${x} ${y + BAR + 2}l6 -${BAR + 4}"/>`;
    })
    .join('');

/** @param {{ load: string, targets: { name: string, perS: number }[] }} measured */
export function chart({ load, targets }) {
  const fastest = Math.max(...targets.map(({ perS }) => perS));
  const ours = targets.find(({ name }) => name === OWN)?.perS ?? fastest;
  const most = Math.min(fastest, LONGEST * ours);
  const rows = targets.map(({ name, perS }, i) => {
    const y = TOP + i * ROW;
    const width = Math.max(2, Math.round((Math.min(perS, most) / most) * BARS));
    const own = name === OWN ? ' class="own"' : '';
    return [
      text(LABEL_WIDTH - 10, y + 14, name, `text-anchor="end"${own}`),
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${width}" height="${BAR}" rx="3"${own}/>`,
      perS > most ? cuts(y) : '',
      text(LABEL_WIDTH + width + 8, y + 14, `${Math.round(perS).toLocaleString('en')}/s`, own.trim()),
    ].join('');
  });
  const height = TOP + targets.length * ROW + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Requests a second, ${load}">
<style>
text { font: 13px system-ui, sans-serif; fill: #57606a } .own { font-weight: 600; fill: #0969da } rect { fill: #afb8c1 } rect.own { fill: #0969da } .cut { stroke: #fff; stroke-width: 4 }
@media (prefers-color-scheme: dark) { text { fill: #9198a1 } .own { fill: #4493f8 } rect { fill: #59636e } rect.own { fill: #4493f8 } .cut { stroke: #0d1117 } }
</style>
${text(LABEL_WIDTH, 22, `Requests a second, ${load}`)}
${rows.join('\n')}
</svg>
`;
}
