// The live page: asks the server it came from, and nobody else, a few times a second, and shows what it said.
// Nothing that is shown is computed here but rates, which are differences, and how far a sample is up the paper.
'use strict';

const POLL_MS = 500;
/** After no answer. */
const AGAIN_MS = 2000;
/** A slow server, or one of many nodes, is asked less often: so many times what an answer took, up to this. */
const POLL_SHARE = 4;
const POLL_MS_MAX = 2000;
/** The server gives an answer up after five seconds. */
const ANSWER_MS_MAX = 6000;
/** Without an answer for so long there is none; sooner when it was said that there is none. */
const LOST_MS = POLL_MS_MAX + ANSWER_MS_MAX;
const LOST_MS_MIN = 4000;
/** Rates are over so long. */
const RATE_MS = 5000;
/** Totals that are drawn, a second apart. */
const PAST_MAX = 600;
const CARDS_MAX = 400;
const DRAWN_MAX = 48;
/** A step is a quarter of a drawing's height at least. */
const LEVELS_MAX = 6;
/** The differences of greater numbers may be none. */
const VALUE_MAX = 1e300;
const SVG = 'http://www.w3.org/2000/svg';

const $ = id => document.getElementById(id);
const cards = new Map();
let answer = null;
let past = [];
let recent = [];
let order = [];
let held = false;
let answeredAt = 0;
let hasFailed = false;
/** What this page could not do with an answer. */
let fault = '';
let hasPast = false;
let updates = 0;
let timer = null;
let isAsking = false;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawing(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Changes nothing that is so already: what a reader has marked stays marked. */
function put(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

function toggle(where, name, is) {
  if (where.classList.contains(name) !== is) where.classList.toggle(name, is);
}

// ---- numbers as they are read

function grouped(value, digits = 0) {
  const [whole, part] = value.toFixed(digits).split('.');
  const groups = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return part ? `${groups}.${part}` : groups;
}

function rate(value) {
  if (value === null) return '–';
  return grouped(value, value < 100 ? 1 : 0);
}

function time(ms) {
  if (ms < 10000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7200000) return `${Math.round(ms / 60000)} min`;
  if (ms < 172800000) return `${Math.round(ms / 3600000)} h`;
  return `${Math.round(ms / 86400000)} d`;
}

function share(part, whole) {
  if (!whole) return '–';
  const percent = 100 * part / whole;
  if (percent === 0) return '0 %';
  return percent < 0.01 ? '< 0.01 %' : `${percent.toFixed(2)} %`;
}

const PREFIXES = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];

function prefix(most) {
  return PREFIXES.find(([size]) => most >= size * 0.9999) ?? [1, ''];
}

function bytes(value) {
  const [size, letter] = prefix(Math.max(value, 1));
  return [(value / size).toFixed(value / size < 10 ? 1 : 0), `${letter}B`];
}

function micros(ns) {
  if (ns < 1e6) return `${grouped(ns / 1e3, ns < 1e5 ? 1 : 0)} µs`;
  return ns < 1e9 ? `${grouped(ns / 1e6, ns < 1e8 ? 2 : 0)} ms` : `${grouped(ns / 1e9, 2)} s`;
}

/** The least of these times a power of ten that is not below `value`. */
function round(value, times = [1, 2, 5, 10]) {
  const power = 10 ** Math.floor(Math.log10(value));
  return times.map(one => one * power).find(step => step >= value * 0.9999);
}

// ---- what the server says

function wanted() {
  const bottom = innerHeight + 200;
  const seen = order.filter(id => {
    const { top, bottom: end } = cards.get(id).item.getBoundingClientRect();
    return end > -200 && top < bottom;
  });
  return seen.slice(0, DRAWN_MAX);
}

async function ask() {
  const begun = performance.now();
  let pause = AGAIN_MS;
  isAsking = true;
  try {
    const query = `nodes=${wanted().join(',')}${hasPast ? '' : '&past=1'}`;
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(`/live.json?${query}`, { cache: 'no-store', signal });
    if (!response.ok) throw new Error(response.statusText);
    const said = await response.json();
    hasFailed = false;
    const took = performance.now() - begun;
    pause = Math.min(POLL_MS_MAX, Math.max(POLL_MS, POLL_SHARE * took) - Math.min(POLL_MS, took));
    show(said);
  } catch {
    // Shown as what it is: a server that does not answer.
    hasFailed = true;
  }
  isAsking = false;
  state();
  timer = setTimeout(next, pause);
}

/** Nobody looks at a page that is hidden. */
function next() {
  clearTimeout(timer);
  if (!document.hidden && !isAsking) ask();
}

/** An answer that cannot be shown is this page's fault, and not the server's silence. */
function show(said) {
  try {
    if (!held) take(said);
    answeredAt = performance.now();
    fault = '';
  } catch (error) {
    fault = String(error);
    console.error(error);
  }
}

function take(said) {
  if (answer && said.started_ms !== answer.started_ms) {
    // It was started again.
    [past, recent, hasPast] = [[], [], false];
  }
  answer = said;
  if (said.past) [past, hasPast] = [said.past, true];
  const totals = said.totals;
  if (!past.length || said.at_ms - past.at(-1)[0] >= 1000) past.push(totals);
  past = past.slice(-PAST_MAX);
  const nodes = new Map(said.nodes.map(node => [node.node, [node.frames, node.samples]]));
  recent.push({ at_ms: said.at_ms, batches: said.stats.batches, totals, nodes });
  while (recent.length > 2 && recent[1].at_ms <= said.at_ms - RATE_MS) recent.shift();
  draw();
  updates += 1;
  document.body.dataset.updates = updates;
}

/** What was counted in a second, lately; null as long as nobody knows. */
function lately(of) {
  const [first, last] = [recent[0], recent.at(-1)];
  const [from, to] = [of(first), of(last)];
  if (last.at_ms - first.at_ms < 400 || from === undefined || to === undefined) return null;
  return 1000 * (to - from) / (last.at_ms - first.at_ms);
}

// ---- how it is shown

function state() {
  const silence_ms = performance.now() - answeredAt;
  const isLost = silence_ms > (hasFailed ? LOST_MS_MIN : LOST_MS);
  const where = $('state');
  const [name, sign, words] =
    fault ? ['lost', '▲', `this page failed: ${fault}`] :
    isLost ? ['lost', '▲', answer ? `no answer for ${time(silence_ms)}` : 'the server does not answer'] :
    held ? ['held', '‖', 'held'] :
    !answer ? ['waiting', '○', 'waiting for the first answer'] :
    lately(at => at.totals[1]) > 0 ? ['good', '●', 'storing'] : ['good', '○', 'nothing new arrives'];
  for (const other of ['lost', 'held', 'waiting', 'good']) toggle(where, other, other === name);
  put(where.querySelector('.sign'), sign);
  put($('state-words'), words);
  toggle(document.body, 'stale', (isLost || fault !== '') && answer !== null);
}

function draw() {
  put($('name'), answer.name);
  put($('clock'), new Date(answer.wall_ms).toLocaleTimeString([], { hour12: false }));
  put($('up'), time(answer.at_ms));
  const isOn = alarms();
  const title = `${isOn ? '▲ ' : ''}${answer.name} – Selvedge`;
  if (document.title !== title) document.title = title;
  figures();
  chart($('stored'), [{ of: 1, tone: 'accent', name: '' }]);
  chart($('refused'), [{ of: 3, tone: 'alert', name: 'frames' }, { of: 4, tone: 'second', name: 'batches' }]);
  nodes();
  times();
  losses();
}

function alarms() {
  const { alarms: on, disk, nodes: all } = answer;
  const count = (value, words) => value ? `${grouped(value)} ${words}` : 'none';
  const rows = [
    ['Silent nodes', on.silent_nodes > 0, on.silent_nodes ? `${grouped(on.silent_nodes)} of ${grouped(all.length)}` : 'none'],
    ['Frames refused', on.failed_frames > 0, count(on.failed_frames, 'in a minute')],
    ['Batches refused', on.refused_batches > 0, count(on.refused_batches, 'in a minute')],
    ['Deadlines missed', on.missed_deadlines > 0,
      on.missed_deadlines === null ? 'not set' : count(on.missed_deadlines, 'in a minute')],
    ['Disk', on.disk_nearly_full, disk ? `${Math.floor(100 * disk.free_bytes / disk.bytes)} % free` : 'unknown'],
  ];
  const list = $('alarms');
  rows.forEach(([what, isOn, value], place) => {
    const item = list.children[place] ?? list.appendChild(element('li', {},
      element('span', { class: 'sign', 'aria-hidden': 'true' }), element('span', { class: 'what' }),
      element('span', { class: 'value' }), element('span', { class: 'quiet' })));
    const isUnknown = value === 'unknown' || value === 'not set';
    toggle(item, 'on', isOn);
    toggle(item, 'unknown', isUnknown);
    put(item.children[0], isOn ? '▲' : isUnknown ? '–' : '✓');
    put(item.children[1], what);
    put(item.children[2], value);
    put(item.children[3], isOn ? 'alarm' : '');
  });
  return rows.some(([, isOn]) => isOn);
}

function figures() {
  const { stats, nodes: all, disk } = answer;
  const total = of => all.reduce((sum, node) => sum + node[of], 0);
  const [free, unit] = disk ? bytes(disk.free_bytes) : ['–', ''];
  const heard = all.filter(node => node.heard).length;
  const rows = [
    ['Frames stored', rate(lately(at => at.totals[1])), '/s', `${grouped(stats.frames_stored)} in all`],
    ['Samples stored', rate(lately(at => at.totals[2])), '/s', `${grouped(answer.samples)} in all`],
    ['Nodes heard', grouped(heard), `of ${grouped(all.length)}`, `connections so far: ${grouped(stats.connections)}`],
    ['Samples missing', share(total('missing'), total('steps')), '', `${grouped(total('missing'))} instants`],
    ['Durable within', ...micros(stats.durable_latency.p99_ns).split(' '), '99 % of batches'],
    ['Disk free', free, unit, disk ? `of ${bytes(disk.bytes).join(' ')}` : ''],
  ];
  const list = $('figures');
  rows.forEach(([label, value, unit, aside], place) => {
    const item = list.children[place] ?? list.appendChild(element('div', {}, element('dt'),
      element('dd', { class: 'value' }, element('span'), ' ', element('span', { class: 'unit' })),
      element('dd', { class: 'aside' })));
    put(item.children[0], label);
    put(item.children[1].firstChild, value);
    put(item.children[1].lastChild, unit);
    put(item.children[2], aside);
  });
}

/** Lines of rates over the last minutes, from totals. */
function chart(svg, lines) {
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  const [left, right, top, bottom] = [46, 8, 14, 20];
  const now = past.at(-1)[0];
  const span = [60, 120, 300, 600].find(seconds => now - past[0][0] <= seconds * 1000) ?? 600;
  const rates = lines.map(({ of }) => past.flatMap((tick, place) => {
    // Over three seconds: what comes once a second would beat otherwise.
    const from = past[Math.max(0, place - 3)];
    return tick[0] - from[0] >= 500 ? [[tick[0], 1000 * (tick[of] - from[of]) / (tick[0] - from[0])]] : [];
  }));
  const most = round(Math.max(1, ...rates.flat().map(([, value]) => value)), [1, 2, 3, 4, 6, 8, 10]);
  const x = at_ms => left + (width - left - right) * (1 - (now - at_ms) / (span * 1000));
  const y = value => top + (height - top - bottom) * (1 - value / most);
  const parts = [];
  for (const value of [0, most / 2, most]) {
    parts.push(drawing('line', { class: value ? 'grid' : 'axis', x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    parts.push(drawing('text', { class: 'tick', x: left - 6, y: y(value) + 4, 'text-anchor': 'end' },
      grouped(value, most < 2 ? 1 : 0)));
  }
  for (const back of [1, 0.5, 0]) {
    const label = back ? (span * back >= 120 ? `−${span * back / 60} min` : `−${span * back} s`) : 'now';
    const anchor = back === 1 ? 'start' : back ? 'middle' : 'end';
    parts.push(drawing('text', { class: 'tick', x: x(now - span * back * 1000), y: height - 5, 'text-anchor': anchor }, label));
  }
  lines.forEach(({ tone, name }, place) => {
    const points = rates[place].filter(([at_ms]) => now - at_ms <= span * 1000);
    if (points.length < 2) return;
    const path = points.map(([at_ms, value]) => `${x(at_ms).toFixed(1)} ${y(value).toFixed(1)}`).join('L');
    if (tone === 'accent') {
      const [from, to] = [x(points[0][0]).toFixed(1), x(points.at(-1)[0]).toFixed(1)];
      parts.push(drawing('path', { class: 'area', d: `M${from} ${y(0)}L${path}L${to} ${y(0)}Z` }));
    }
    parts.push(drawing('path', { class: `series stroke-${tone}`, d: `M${path}` }));
    if (name) {
      const length = 22;
      const from = width - right - 76 - 84 * (lines.length - 1 - place);
      parts.push(drawing('path', { class: `series stroke-${tone}`, d: `M${from} 8h${length}` }));
      parts.push(drawing('text', { class: 'tick', x: from + length + 5, y: 12 }, name));
    }
  });
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.replaceChildren(...parts);
}

// ---- nodes

const label = node => `${node.cell} / ${node.node}`;
const RANKS = {
  number: () => 0,
  silence: node => -node.silence_ms,
  missing: node => -node.missing / Math.max(1, node.steps),
  rate: node => -(lately(at => at.nodes.get(node.node)?.[1]) ?? 0),
};

/** Which nodes are shown, in which order. Anew only when a person asks: cards that move cannot be read. */
function arrange() {
  if (!answer) return;
  const words = $('find').value.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = node => words.every(word => `${label(node)} ${node.cell}/${node.node}`.toLowerCase().includes(word));
  const found = answer.nodes.filter(node => isFound(node) && (!$('alarmed').checked || node.is_silent));
  const rank = RANKS[$('order').value];
  const ranked = found.map(node => [rank(node), node]).sort(([a, one], [b, other]) => a - b || one.node - other.node);
  order = ranked.slice(0, CARDS_MAX).map(([, node]) => node.node);
  for (const id of order) if (!cards.has(id)) cards.set(id, card());
  const none = element('li', { class: 'nothing' }, 'No node is like that.');
  $('nodes').replaceChildren(...(order.length ? order.map(id => cards.get(id).item) : [none]));
  const all = answer.nodes.length;
  const isAll = found.length === all && all <= CARDS_MAX;
  put($('shown'), isAll ? `${grouped(all)} in all` : `${grouped(order.length)} of ${grouped(all)} shown`);
}

function card() {
  const name = element('span', { class: 'name' });
  const input = element('span', { class: 'input' });
  const sign = element('span', { class: 'sign', 'aria-hidden': 'true' });
  const words = element('span');
  const svg = drawing('svg', { class: 'chart plot', role: 'img' });
  const values = ['heard', 'frames/s', 'samples/s', 'missing', 'epoch'].map(word => {
    const value = element('dd');
    return { value, pair: element('div', {}, element('dt', {}, word), value) };
  });
  const item = element('li', {},
    element('div', { class: 'head' }, name, input, element('span', { class: 'word' }, sign, words)), svg,
    element('dl', {}, ...values.map(({ pair }) => pair)));
  return { item, name, input, sign, words, svg, values: values.map(({ value }) => value), scale: null };
}

function nodes() {
  const ids = answer.nodes.map(node => node.node).join();
  const silent = $('alarmed').checked ? answer.nodes.filter(node => node.is_silent).length : 0;
  if (ids !== draw.ids || silent !== draw.silent) arrange();
  [draw.ids, draw.silent] = [ids, silent];
  const all = new Map(answer.nodes.map(node => [node.node, node]));
  const seen = new Set(wanted());
  for (const id of order) fill(cards.get(id), all.get(id), seen.has(id));
}

function fill(card, node, isSeen) {
  const [sign, words] =
    node.is_revoked ? ['×', 'revoked'] :
    node.is_silent ? ['▲', node.heard ? 'silent' : 'never heard'] :
    node.heard ? ['●', 'heard'] : ['○', 'not heard yet'];
  toggle(card.item, 'silent', node.is_silent);
  toggle(card.item, 'off', !node.heard || node.is_revoked);
  put(card.name, label(node));
  put(card.sign, sign);
  put(card.words, node.is_authenticated ? words : `${words}, not authenticated`);
  const of = place => node.heard ? rate(lately(at => at.nodes.get(node.node)?.[place])) : '–';
  const texts = [
    node.heard ? `${time(node.silence_ms)} ago` : '–', of(0), of(1), share(node.missing, node.steps),
    node.heard ? String(node.epoch) : '–',
  ];
  texts.forEach((text, place) => put(card.values[place], text));
  toggle(card.values[0], 'bad', node.is_silent);
  toggle(card.values[3], 'bad', node.missing > 0.01 * node.steps);
  if (!isSeen) return;
  const drawn = answer.drawn[node.node];
  put(card.input, drawn ? `input ${drawn.channel}${drawn.kind === 'code' ? '' : `, ${drawn.kind}`}` : '');
  card.svg.setAttribute('aria-label', `Last samples of ${label(node)}`);
  waveform(card, drawn);
}

/** The least and the most of what is drawn, kept wide for a while so that the paper does not breathe. */
function scale(card, least, most) {
  const old = card.scale;
  const isOut = !old || least < old.least || most > old.most;
  const isWide = old && most - least < 0.5 * (old.most - old.least);
  if (isOut || (isWide && ++old.wide > 20)) {
    const room = 0.08 * (most - least) || Math.abs(most) * 0.1 || 1;
    card.scale = { least: least - room, most: most + room, wide: 0 };
  } else if (!isWide) old.wide = 0;
  return card.scale;
}

function waveform(card, drawn) {
  const svg = card.svg;
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  if (!width) return;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const columns = drawn ? pairs(drawn) : [];
  const numbers = columns.filter(column => column).flat();
  if (!numbers.length) {
    const text = { class: 'tick', x: width / 2, y: height / 2, 'text-anchor': 'middle' };
    svg.replaceChildren(drawing('text', text, 'no samples since the page was opened'));
    return;
  }
  const source = `${drawn.channel} ${drawn.kind}`;
  if (card.source !== source) [card.source, card.scale] = [source, null];
  const { least, most } = scale(card, Math.min(...numbers), Math.max(...numbers));
  const [left, right, top, bottom] = [48, 4, 10, 20];
  const x = share => left + (width - left - right) * share;
  const y = value => top + (height - top - bottom) * (1 - (value - least) / (most - least));
  const parts = [...levels(least, most, drawn.unit, y, left, width - right, height - bottom)];
  parts.push(...moments(drawn.span_s, x, height));
  parts.push(drawing('path', { class: 'series stroke-accent line', d: line(columns, x, y) }));
  svg.replaceChildren(...parts);
}

/** What each column holds, in the channel's unit. */
function pairs({ columns, scale, offset }) {
  const made = [];
  for (let at = 0; at < columns.length; at += 2) {
    const ends = [columns[at], columns[at + 1]];
    const values = ends.map(value => value * scale + offset);
    const isDrawn = !ends.includes(null) && values.every(value => Math.abs(value) <= VALUE_MAX);
    made.push(isDrawn ? values : null);
  }
  return made;
}

/** A line through the least and the most of each column, and none where nothing is. */
function line(columns, x, y) {
  let path = '';
  let before = null;
  columns.forEach((column, place) => {
    if (!column) {
      before = null;
      return;
    }
    const at = x((place + 0.5) / columns.length).toFixed(1);
    const [low, high] = column.map(value => y(value).toFixed(1));
    // From where the line is, the nearer end first.
    const isHighFirst = before !== null && Math.abs(before - high) < Math.abs(before - low);
    const ends = low === high ? [low] : isHighFirst ? [high, low] : [low, high];
    path += ends.map((end, index) => `${before === null && index === 0 ? 'M' : 'L'}${at} ${end}`).join('');
    before = ends.at(-1);
  });
  return path;
}

function* levels(least, most, unit, y, left, right, bottom) {
  const step = round((most - least) / 4);
  const [size, letter] = unit ? prefix(Math.max(Math.abs(least), Math.abs(most))) : [1, ''];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 0.001));
  const first = Math.ceil(least / step) * step;
  // Counted: a step may be less than the next greater number.
  for (let place = 0; place < LEVELS_MAX && first + place * step <= most; place += 1) {
    const level = first + place * step;
    const value = Math.abs(level) < step / 1e6 ? 0 : level / size;
    yield drawing('line', { class: 'grid', x1: left, x2: right, y1: y(level), y2: y(level) });
    const text = digits > 6 ? value.toPrecision(3) : value.toFixed(digits).replace('-', '−');
    yield drawing('text', { class: 'tick', x: left - 6, y: y(level) + 4, 'text-anchor': 'end' }, text);
  }
  yield drawing('line', { class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom });
  yield drawing('text', { class: 'tick', x: 0, y: bottom + 15 }, unit ? `${letter}${unit}` : 'raw');
}

/** Time before the latest sample. */
function* moments(span_s, x, height) {
  if (!(span_s > 0)) return;
  const step = round(span_s / 4);
  const [size, letter] = prefix(Math.min(1, span_s));
  for (let back = 0; back <= span_s * 0.97; back += step) {
    const at = x(1 - back / span_s);
    const text = back ? `−${+(back / size).toPrecision(3)}` : `0 ${letter}s`;
    yield drawing('line', { class: 'axis', x1: at, x2: at, y1: height - 20, y2: height - 16 });
    yield drawing('text', { class: 'tick', x: at, y: height - 5, 'text-anchor': back ? 'middle' : 'end' }, text);
  }
}

// ---- tables

function table(where, heads, rows) {
  if (!where.tHead) {
    const line = element('tr', {}, ...heads.map(head => element('th', { scope: 'col' }, head)));
    where.append(element('thead', {}, line), element('tbody'));
  }
  const body = where.tBodies[0];
  while (body.rows.length > rows.length) body.lastChild.remove();
  rows.forEach((cells, place) => {
    const line = body.rows[place] ?? body.appendChild(element('tr', {},
      ...cells.map((_, index) => element(index ? 'td' : 'th', index ? {} : { scope: 'row' }))));
    cells.forEach((text, index) => put(line.children[index], text));
  });
}

function times() {
  const { stages = {}, durable_latency: durable, deadline } = answer.stats;
  const row = ([name, of]) => [name, grouped(of.count), ...[of.p50_ns, of.p99_ns, of.p999_ns, of.max_ns].map(micros)];
  const rows = [...Object.entries(stages), ['arrival to durable', durable]].map(row);
  table($('times'), ['Stage', 'count', 'median', '99 %', '99.9 %', 'most seen'], rows);
  put($('deadline'), deadline ? `Deadline ${micros(deadline.deadline_ns)}: ${grouped(deadline.missed)} of ` +
    `${grouped(deadline.met + deadline.missed)} missed it, at most ${grouped(deadline.longest_run)} in a row.` : '');
}

function losses() {
  const { stats } = answer;
  const of = (what, counts) => Object.entries(counts).map(([reason, count]) => [reason, what, grouped(count)]);
  const also = [
    ['sent again and stored before', 'frames', stats.frames_duplicate],
    ['no room for another datagram', 'datagrams', stats.datagrams_dropped],
    ['no valid hello', 'connections', stats.connections_failed],
  ];
  const rows = [...of('frames', stats.frames_failed), ...of('batches', stats.refused),
    ...also.filter(([, , count]) => count).map(([reason, what, count]) => [reason, what, grouped(count)])];
  table($('losses'), ['Reason', 'what', 'count'], rows.length ? rows : [['nothing so far', '', '']]);
}

// ---- what a person does

$('find').addEventListener('input', arrange);
$('order').addEventListener('change', arrange);
$('alarmed').addEventListener('change', arrange);
$('hold').addEventListener('click', () => {
  held = !held;
  $('hold').setAttribute('aria-pressed', held);
  state();
});
document.addEventListener('visibilitychange', next);
setInterval(state, 1000);
ask();
