// Draws requests a second as an SVG, one bar per target, readable on light and dark pages.

const WIDTH = 640;
const LABEL_WIDTH = 150;
const VALUE_WIDTH = 120;
const ROW = 34;
const BAR = 18;
const TOP = 44;
const BARS = WIDTH - LABEL_WIDTH - VALUE_WIDTH;

const text = (x, y, content, more = '') => `<text x="${x}" y="${y}" ${more}>${content}</text>`;

/** @param {{ load: string, targets: { name: string, perS: number }[] }} measured */
export function chart({ load, targets }) {
  const most = Math.max(...targets.map(({ perS }) => perS));
  const rows = targets.map(({ name, perS }, i) => {
    const y = TOP + i * ROW;
    const width = Math.max(2, Math.round((perS / most) * BARS));
    const own = name === 'Tidegate' ? ' class="own"' : '';
    return [
      text(LABEL_WIDTH - 10, y + 14, name, `text-anchor="end"${own}`),
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${width}" height="${BAR}" rx="3"${own}/>`,
      text(LABEL_WIDTH + width + 8, y + 14, `${Math.round(perS).toLocaleString('en')}/s`, own.trim()),
    ].join('');
  });
  const height = TOP + targets.length * ROW + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Requests a second, ${load}">
<style>
text { font: 13px system-ui, sans-serif; fill: #57606a } .own { font-weight: 600; fill: #0969da } rect { fill: #afb8c1 } rect.own { fill: #0969da }
@media (prefers-color-scheme: dark) { text { fill: #9198a1 } .own { fill: #4493f8 } rect { fill: #59636e } rect.own { fill: #4493f8 } }
</style>
${text(LABEL_WIDTH, 22, `Requests a second, ${load}`)}
${rows.join('\n')}
</svg>
`;
}
