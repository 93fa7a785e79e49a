// Runs in a world of its own. It counts the page's visible Continue controls. To press the only one it brings it into
// view and says where it is, when nothing covers it there.
(press) => {
  const name = (el) => (el.getAttribute('aria-label') || (el.tagName === 'INPUT' ? el.value : el.textContent) || '').replace(/\s+/g, ' ').trim();
  const visible = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && el.checkVisibility({opacityProperty: true, visibilityProperty: true}) && !el.disabled;
  };
  const controls = Array.from(document.querySelectorAll('button, a[href], input[type=submit], input[type=button], [role=button]'));
  const found = controls.filter((el) => visible(el) && /^continue$/i.test(name(el)));
  if (!press || found.length !== 1) return {count: found.length};
  const el = found[0];
  el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = el.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  return {count: 1, x, y, open: !!hit && el.contains(hit)};
}
