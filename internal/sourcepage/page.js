(function () {
  var select = document.getElementById("kernel");
  function show(id) {
    document.querySelectorAll("[data-view]").forEach(function (e) { e.hidden = e.dataset.view !== id; });
    try { sessionStorage.setItem("kernel", id); } catch (e) {}
  }
  if (select) {
    select.addEventListener("change", function () { show(select.value); });
    var id = null;
    try { id = sessionStorage.getItem("kernel"); } catch (e) {}
    if (id && select.querySelector('option[value="' + id + '"]')) { select.value = id; show(id); }
  }
  document.addEventListener("click", function (e) {
    var cell = e.target.closest && e.target.closest("tr[title] .c");
    if (!cell) return;
    var row = cell.parentNode, next = row.nextElementSibling;
    if (next && next.className === "note") { next.remove(); return; }
    var note = document.createElement("tr");
    note.className = "note";
    note.innerHTML = "<td></td><td></td><td></td>";
    note.lastChild.textContent = row.title;
    row.after(note);
  });
})();
