// Runs in a world of its own, after find.js has put the focus on the element. Before typing it empties a text field or
// sets a choice; after typing it tells the page, and says whether the value was taken.
(phase, value) => {
  let el = document.activeElement;
  while (el?.shadowRoot?.activeElement) el = el.shadowRoot.activeElement;
  if (!el || el === document.body) return {why: 'the focus moved away'};
  const tell = (...names) => names.forEach((n) => el.dispatchEvent(new Event(n, {bubbles: true, composed: true})));

  if (el.tagName === 'SELECT') {
    if (phase === 'end') return {why: el.value === value ? '' : 'another option is chosen'};
    if (!Array.from(el.options).some((o) => o.value === value && !o.disabled)) return {why: 'there is no such option'};
    el.value = value;
    tell('input', 'change');
    return {kind: 'choice'};
  }
  if (el.type === 'checkbox' || el.type === 'radio') {
    if (phase === 'begin' && el.checked !== (value === 'true')) el.click();
    return {kind: 'choice', why: el.checked === (value === 'true') ? '' : 'it stayed as it was'};
  }
  const editable = el.isContentEditable;
  if (!editable && !('value' in el)) return {why: 'it is not a field'};
  if (phase === 'begin') {
    if (editable) getSelection().selectAllChildren(el);
    else el.select?.();
    if (value === '') document.execCommand('delete');
    return {kind: 'text'};
  }
  tell('change');
  return {why: (editable ? el.innerText.trim() : el.value) === value ? '' : 'the field holds something else'};
}
