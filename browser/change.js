// Runs in a world of its own, which the page's scripts cannot reach, with a field. What is typed between its phases is typed
// by Chromium. It says what stands in the way, and afterwards whether the value was taken.
(el, phase, value, options) => {
  const tell = (...names) => names.forEach((n) => el.dispatchEvent(new Event(n, {bubbles: true, composed: true})));
  const editable = el.isContentEditable;
  const lines = (s) => s.replace(/\r\n?/g, '\n').replace(/\u00a0/g, ' ');
  const clean = (s) => (s || '').replace(/\s+/g, ' ').trim();
  // Fields whose value is chosen with a control of Chromium's own, and not typed.
  const chosen = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];

  const option = (wanted) => {
    const is = (by) => Array.from(el.options).find((o) => by(o) && !o.disabled && !o.parentElement.disabled);
    return is((o) => o.value === wanted) || is((o) => clean(o.label) === clean(wanted) || clean(o.text) === clean(wanted));
  };
  const choose = (wanted) => {
    if (wanted.length > 1 && !el.multiple) return {why: 'it takes one option'};
    const found = wanted.map(option);
    const missing = found.findIndex((o) => !o);
    if (missing >= 0) return {why: 'there is no such option that can be chosen', missing};
    for (const o of el.options) o.selected = found.includes(o);
    tell('input', 'change');
    return {kind: 'choice'};
  };
  const chooses = (wanted) => {
    const found = wanted.map(option);
    const same = Array.from(el.options).every((o) => o.selected === found.includes(o));
    return {why: same ? '' : 'other options are chosen'};
  };

  if (!el.isConnected) return {why: 'it is not in the page any more'};
  if (phase === 'select' || phase === 'selected') {
    if (el.tagName !== 'SELECT') return {why: 'it is no list of options'};
    return phase === 'select' ? choose(options) : chooses(options);
  }
  if (phase === 'checkable') {
    const role = el.getAttribute('role');
    const control = el.tagName === 'LABEL' && el.control || el;
    if (control.type === 'checkbox' || control.type === 'radio') return {kind: control.type, on: control.checked};
    if (['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
      return {kind: role.includes('radio') ? 'radio' : 'checkbox', on: el.getAttribute('aria-checked') === 'true'};
    }
    return {why: 'it is nothing that can be checked'};
  }
  if (phase === 'files') {
    if (el.tagName !== 'INPUT' || el.type !== 'file') return {why: 'it is no field for files'};
    if (options.length > 1 && !el.multiple) return {why: 'it takes one file'};
    return {kind: 'files', count: el.files.length};
  }

  if (el.tagName === 'SELECT') return phase === 'end' ? chooses([value]) : choose([value]);
  if (el.type === 'checkbox' || el.type === 'radio') {
    const on = value === 'true' || value !== 'false' && value === el.value;
    if (phase === 'begin' && el.checked !== on) el.click();
    return {kind: 'choice', why: el.checked === on ? '' : 'it stayed as it was'};
  }
  if (el.type === 'file') return {why: 'it is a field for files'};
  if (!editable && !('value' in el)) return {why: 'it is no field'};
  if (!editable && el.readOnly) return {why: 'it is read-only'};
  if (phase === 'begin' || phase === 'append') {
    el.focus();
    if (chosen.includes(el.type)) {
      if (phase === 'append') return {why: 'nothing can be typed behind its value'};
      el.value = value;
      tell('input');
      return {kind: 'choice'};
    }
    if (phase === 'append') {
      if (editable) getSelection().selectAllChildren(el), getSelection().collapseToEnd();
      else if (el.selectionStart !== null) el.setSelectionRange(el.value.length, el.value.length);
      else return {kind: 'text', end: true}; // Chromium lets nobody set the caret there
      return {kind: 'text'};
    }
    if (editable) getSelection().selectAllChildren(el);
    else el.select?.();
    if (value === '') document.execCommand('delete');
    return {kind: 'text'};
  }
  // Of what was typed the browser itself tells, once, when the field is left.
  if (chosen.includes(el.type)) tell('change');
  const now = editable ? lines(el.innerText).trim() : lines(el.value);
  let wanted = editable ? lines(value).trim() : lines(value);
  if (el.type === 'color') wanted = wanted.toLowerCase();
  return {why: now === wanted ? '' : 'the field holds something else'};
}
