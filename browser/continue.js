// Runs in a world of its own. It looks for the page's Continue control and says how many there are and where.
() => {
  const name = (el) => (el.getAttribute('aria-label') || (el.tagName === 'INPUT' ? el.value : el.textContent) || '').replace(/\s+/g, ' ').trim();
  const visible = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(el).visibility === 'visible' && !el.disabled;
  };
  const controls = Array.from(document.querySelectorAll('button, a[href], input[type=submit], input[type=button], [role=button]'));
  const found = controls.filter((el) => visible(el) && /^continue$/i.test(name(el)));
  if (found.length !== 1) return {count: found.length};
  found[0].scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = found[0].getBoundingClientRect();
  return {count: 1, x: box.x + box.width / 2, y: box.y + box.height / 2};
}
