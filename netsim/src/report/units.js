// Numbers as people read them: whole picoseconds, bytes and frames come in, text goes out.

// A unit: its name, its size, and the amount from which it is used.
const TIMES = [
  ["s", 1e12, 1e12],
  ["ms", 1e9, 1e9],
  ["µs", 1e6, 1e6],
  ["ns", 1e3, 1e3],
  ["ps", 1, 0],
];
// Networks are spoken of in Gb/s, so a tenth of one is still one of these.
const RATES = [
  ["Tb/s", 1e12, 1e12],
  ["Gb/s", 1e9, 1e8],
  ["Mb/s", 1e6, 1e6],
  ["kb/s", 1e3, 1e3],
  ["b/s", 1, 0],
];
const SIZES = [
  ["GB", 1e9, 1e9],
  ["MB", 1e6, 1e6],
  ["kB", 1e3, 1e3],
  ["B", 1, 0],
];

// The unit for amounts up to `largest`.
function unitFor(units, largest) {
  const [name, size] = units.find(([, , from]) => largest >= from) ?? units[units.length - 1];
  return { name, size };
}

// `part` of `whole`; nothing of nothing is 0.
function ratio(part, whole) {
  return whole > 0 ? part / whole : 0;
}

// Bits per second.
function rate(bytes, picoseconds) {
  return ratio(bytes * 8e12, picoseconds);
}

// A whole number, with commas.
function count(number) {
  return number.toLocaleString("en-US");
}

// A number with so many decimals, and commas.
function fixed(number, decimals) {
  return number.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

// A number to about three places, without zeros that say nothing.
function plain(number) {
  const decimals = Math.abs(number) < 10 ? 2 : 1;
  return Number(number.toFixed(decimals)).toLocaleString("en-US", { maximumFractionDigits: 2 });
}

// An amount with its unit.
function amount(units, value) {
  const unit = unitFor(units, value);
  return value === 0 ? `0 ${unit.name}` : `${plain(value / unit.size)} ${unit.name}`;
}

// An amount to three places, for columns.
function columnText(units, value) {
  const unit = unitFor(units, value);
  const number = value / unit.size;
  if (value === 0 || unit.size === 1) return `${count(Math.round(number))} ${unit.name}`;
  const decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  return `${fixed(number, decimals)} ${unit.name}`;
}

const timeText = (picoseconds) => (picoseconds === 0 ? "0 s" : amount(TIMES, picoseconds));
const rateText = (bitsPerSecond) => (bitsPerSecond === 0 ? "0 Gb/s" : amount(RATES, bitsPerSecond));
const sizeText = (bytes) => amount(SIZES, bytes);

// Part of a whole, in percent.
function shareText(share) {
  const percent = share * 100;
  if (percent > 0 && percent < 1) return "< 1 %";
  if (percent > 99 && percent < 100) return "> 99 %";
  return `${Math.round(percent)} %`;
}

// `number` things, in words that agree with it.
function things(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

// Round numbers between `from` and `to`, at most `most` steps apart from end to end.
function ticks(from, to, most) {
  const rough = (to - from) / Math.max(1, most);
  if (!(rough > 0)) return { step: 1, values: [from] };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * 0.999);
  const values = [];
  for (let n = Math.ceil(from / step - 1e-9) || 0; n * step <= to + step * 1e-9; n += 1) values.push(n * step);
  return { step, values };
}

// The tick `value` in `unit`, with as many decimals as ticks that are `step` apart need.
function tickText(value, step, unit) {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit.size) - 1e-9));
  return fixed(value / unit.size, Math.min(decimals, 6));
}
