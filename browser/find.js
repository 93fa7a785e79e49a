// Runs in a world of its own, which the page's scripts cannot reach. It looks for an element by one path of selectors, says
// what it is and where, or what stands in the way, and remembers it under mark for later calls in the same document.
//
// A part of path is a selector in the syntax of Chrome DevTools' Recorder, or how many of nodes fit it: those that
// Chromium's own accessibility tree named. A path that is nothing is the element that was remembered, and a number alone is
// that of nodes.
async (path, need, mark, offset, ...nodes) => {
  const clean = (s) => (s || '').replace(/\s+/g, ' ').trim();
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 100); }); // a page in the back draws none
  const marked = (globalThis.marked ??= new Map());

  const byId = (el, ids) => ids.split(/\s+/).map((id) => el.getRootNode().getElementById?.(id)?.textContent || '').join(' ');
  const nameOf = (el) => {
    if (el.getAttribute('aria-labelledby')) return clean(byId(el, el.getAttribute('aria-labelledby')));
    if (el.getAttribute('aria-label')) return clean(el.getAttribute('aria-label'));
    if (el.labels && el.labels.length) return clean(Array.from(el.labels, (l) => l.textContent).join(' '));
    if (el.tagName === 'INPUT' && ['submit', 'button', 'reset'].includes(el.type)) return clean(el.value || (el.type === 'submit' ? 'Submit' : ''));
    if (el.alt) return clean(el.alt);
    if (['BUTTON', 'A', 'SUMMARY', 'OPTION', 'LABEL', 'H1', 'H2', 'H3'].includes(el.tagName) || el.getAttribute('role')) return clean(el.textContent);
    return clean(el.title || el.placeholder || '');
  };
  const roleOf = (el) => {
    if (el.getAttribute('role')) return el.getAttribute('role');
    const byTag = {BUTTON: 'button', SELECT: 'combobox', TEXTAREA: 'textbox', SUMMARY: 'button', H1: 'heading', H2: 'heading', H3: 'heading'};
    if (el.tagName === 'A') return el.hasAttribute('href') ? 'link' : '';
    if (el.tagName !== 'INPUT') return byTag[el.tagName] || '';
    return {submit: 'button', button: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio'}[el.type] || 'textbox';
  };
  const control = (el) => ({tag: el.tagName.toLowerCase(), role: roleOf(el), name: nameOf(el), type: el.type || ''});
  const visible = (el) => {
    if (getComputedStyle(el).display === 'contents') return Array.from(el.children).some(visible);
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(el).visibility === 'visible';
  };
  // What an element is in, through slots and shadow roots.
  const outer = (n) => n.assignedSlot || n.parentNode || n.host;
  const within = (n, el) => {
    for (; n; n = outer(n)) if (n === el) return true;
    return false;
  };

  // Every element below a root, through open shadow roots.
  function* all(root) {
    for (const el of root.querySelectorAll('*')) {
      yield el;
      if (el.shadowRoot) yield* all(el.shadowRoot);
    }
  }
  const inside = (root) => root.shadowRoot || root;
  const matches = (root, part) => {
    if (part.startsWith('text/')) {
      const text = clean(part.slice(5));
      const holds = (el) => clean(el.textContent).includes(text);
      return Array.from(all(root)).filter((el) => holds(el) && !Array.from(el.children).some(holds));
    }
    if (part.startsWith('xpath/')) {
      const found = document.evaluate(part.slice(6), root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
      return Array.from({length: found.snapshotLength}, (_, i) => found.snapshotItem(i)).filter((n) => n.nodeType === 1);
    }
    if (part.startsWith('pierce/')) return Array.from(all(root)).filter((el) => el.matches(part.slice(7)));
    return Array.from(root.querySelectorAll(part.startsWith('css/') ? part.slice(4) : part));
  };
  const find = () => {
    if (path == null) {
      const el = marked.get(mark)?.deref();
      return el ? [el] : [];
    }
    let roots = [document], named = 0;
    for (const part of path) {
      const next = new Set();
      const fit = typeof part === 'number' ? nodes.slice(named, named += part) : [];
      for (const root of roots) {
        const found = typeof part === 'number' ? fit.filter((el) => el.nodeType === 1 && within(el, root)) : matches(inside(root), part);
        found.forEach((el) => next.add(el));
      }
      roots = [...next];
    }
    return roots;
  };

  let candidates;
  try {
    candidates = find();
  } catch {
    return {reason: 'wrong'};
  }
  const there = candidates.filter((el) => el.isConnected);
  const shown = there.filter(visible);
  const same = (is, wanted) => is === wanted || wanted instanceof Object && is instanceof Object && Object.entries(wanted).every(([k, v]) => same(is[k], v));
  const unlike = (el) => Object.entries(need.properties || {}).find(([name, value]) => !same(el[name], value)) ||
    Object.entries(need.attributes || {}).find(([name, value]) => el.getAttribute(name) !== value);
  const many = {matches: there.length, shown: shown.length, unlike: (need.visible ? shown : there).map(unlike).find((u) => u)?.[0] || ''};
  if (!there.length) return {...many, reason: candidates.length ? 'detached' : 'no match'};
  if (need.one && shown.length > 1) return {...many, reason: 'several', others: shown.slice(0, 5).map(control)};
  const el = need.visible ? shown[0] : shown[0] || there[0];
  if (!el) return {...many, reason: 'hidden', others: there.slice(0, 1).map(control)};
  const fail = (reason, by) => ({...many, reason, others: [control(by || el)]});

  if (need.enabled) {
    for (let n = el; n; n = outer(n)) {
      if (n.nodeType !== 1) continue;
      if (n.tagName !== 'FIELDSET' && n.matches(':disabled') || n.getAttribute('aria-disabled') === 'true') return fail('disabled', n);
    }
  }
  if (need.editable && (el.readOnly || el.getAttribute('aria-readonly') === 'true')) return fail('read-only');

  // Where the element is: the middle of its first part, or an offset that lies in it.
  const point = () => {
    const box = el.getBoundingClientRect();
    if (offset && offset.X >= 0 && offset.Y >= 0 && offset.X <= box.width && offset.Y <= box.height) return [box.x + offset.X, box.y + offset.Y];
    const parts = el.getClientRects();
    const part = parts.length > 1 ? Array.from(parts).find((r) => r.width > 1 && r.height > 1) || box : box;
    return [part.x + part.width / 2, part.y + part.height / 2];
  };
  if (need.scroll) el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  let [x, y] = point();
  if (need.scroll && (x < 0 || y < 0 || x > innerWidth || y > innerHeight)) { // a part of it that is far from its middle
    scrollBy({left: x - innerWidth / 2, top: y - innerHeight / 2, behavior: 'instant'});
    [x, y] = point();
  }
  if (need.stable) {
    // An animation that has not begun to be drawn yet moves from the second frame on.
    for (let left = document.getAnimations().length ? 2 : 1; left > 0; left--) {
      await frame();
      const [thenX, thenY] = point();
      if (Math.abs(thenX - x) >= 1 || Math.abs(thenY - y) >= 1) return fail('moving');
      if (!el.isConnected) return fail('detached');
    }
  }
  if (need.hit) {
    // From the document down through the shadow roots that the element is in, closed ones too, and those below it.
    const roots = [];
    for (let root = el.getRootNode(); root.host; root = root.host.getRootNode()) roots.unshift(root);
    let hit = document.elementFromPoint(x, y);
    for (const root of roots) {
      if (hit !== root.host) break;
      hit = root.elementFromPoint(x, y) || hit;
    }
    while (hit?.shadowRoot && hit !== el) {
      const deeper = hit.shadowRoot.elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    if (!hit) return fail('outside');
    const label = hit.closest('label');
    if (!within(hit, el) && label?.control !== el && el.closest('button, a, label, summary, [role]') !== hit) return fail('covered', hit);
  }
  if (need.focus) el.focus();

  marked.set(mark, new WeakRef(el));
  const form = {};
  for (const field of el.form?.elements || []) {
    if (!field.name || field.type === 'password' || field.type === 'file') continue;
    if ((field.type === 'checkbox' || field.type === 'radio') && !field.checked) continue;
    form[field.name] = String(field.value);
  }
  return {...many, found: true, x, y, form, page: location.href, control: control(el)};
}
