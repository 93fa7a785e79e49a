// Runs in a world of its own, which the page's scripts cannot reach. It looks for an element by the alternatives of
// Chrome DevTools' Recorder and says what it is and where, or what stands in the way.
(selectors, purpose) => {
  const clean = (s) => (s || '').replace(/\s+/g, ' ').trim();

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
  const visible = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(el).visibility === 'visible';
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
    if (part.startsWith('aria/')) {
      const [, name, role] = part.slice(5).match(/^([^]*?)(?:\[role="([^"]*)"\])?$/);
      return Array.from(all(root)).filter((el) => nameOf(el) === clean(name) && (!role || roleOf(el) === role));
    }
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
  const find = (path) => {
    let roots = [document];
    for (const part of path) {
      const next = [];
      for (const root of roots) next.push(...matches(inside(root), part));
      roots = next;
    }
    return roots;
  };

  let candidates = [];
  for (const path of selectors) {
    let found;
    try {
      found = find(path);
    } catch {
      return {wrong: path.join(' >>> ')};
    }
    candidates.push(...found);
    if (found.some(visible)) break;
  }
  const el = candidates.find(visible);
  if (!el) return {why: candidates.length ? 'it is there and not visible' : 'nothing matches'};
  if (purpose !== 'wait' && el.disabled) return {why: 'it is disabled'};

  el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = el.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  if (purpose === 'click') {
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot && hit !== el) {
      const deeper = hit.shadowRoot.elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    const label = hit?.closest?.('label');
    if (!hit || !(el.contains(hit) || hit.contains(el) || label?.control === el)) {
      return {why: 'it is covered by <' + (hit ? hit.tagName.toLowerCase() : 'nothing') + '>'};
    }
  }
  if (purpose === 'change') {
    el.focus();
    el.select?.();
  }

  globalThis.found = el; // for the calls that follow, in the same world
  const form = {};
  for (const field of el.form?.elements || []) {
    if (!field.name || field.type === 'password' || field.type === 'file') continue;
    if ((field.type === 'checkbox' || field.type === 'radio') && !field.checked) continue;
    form[field.name] = String(field.value);
  }
  return {
    found: true, x, y, form, page: location.href,
    control: {tag: el.tagName.toLowerCase(), role: roleOf(el), name: nameOf(el), type: el.type || ''},
  };
}
