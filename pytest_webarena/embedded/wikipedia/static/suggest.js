// Titles below the search field while one types. Without scripts the field searches all the same.
const field = document.getElementById("q"), list = document.getElementById("titles");
let asked = "";
field.addEventListener("input", async () => {
  const typed = field.value.trim();
  asked = typed;
  const titles = typed ? await (await fetch("/suggest?q=" + encodeURIComponent(typed))).json() : [];
  if (asked === typed) list.replaceChildren(...titles.map((title) => Object.assign(document.createElement("option"), { value: title })));
});
