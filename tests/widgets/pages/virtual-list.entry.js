import {Virtualizer, elementScroll, observeElementOffset, observeElementRect} from '@tanstack/virtual-core';
const list = document.querySelector('#list'), rows = document.querySelector('#rows');
let clicked = '';
window.state = () => clicked;
function show() {
  rows.style.height = `${virtualizer.getTotalSize()}px`;
  rows.replaceChildren(...virtualizer.getVirtualItems().map(({index, start}) => {
    const row = document.createElement('div');
    row.setAttribute('role', 'listitem');
    row.textContent = `Row ${index + 1}`;
    row.style.cssText = `position: absolute; top: ${start}px; height: 30px; width: 100%`;
    row.onclick = () => { clicked = row.textContent };
    return row;
  }));
}
const virtualizer = new Virtualizer({
  count: 1000, getScrollElement: () => list, estimateSize: () => 30, overscan: 2,
  scrollToFn: elementScroll, observeElementRect, observeElementOffset, onChange: show,
});
virtualizer._didMount();
virtualizer._willUpdate();
show();
