// Keys write into the field at the caret; without scripts the field and the Calculate button do it all.
(() => {
  const field = document.getElementById("expression");
  document.querySelector(".keys").addEventListener("click", (event) => {
    const key = event.target.dataset.key;
    if (!key) return;
    if (key === "clear") field.value = "";
    else field.setRangeText(key, field.selectionStart, field.selectionEnd, "end");
    field.focus();
  });
})();
