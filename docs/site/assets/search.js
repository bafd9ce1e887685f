// The search of the site, without a service: it looks through search-index.js, which Hugo writes, and which is loaded when
// somebody begins to search. A script can be loaded from a file, too, where the browser refuses to fetch one. Without
// JavaScript the form stays hidden.
(function () {
  "use strict";
  var form = document.querySelector("form.search");
  var input = form.querySelector("input");
  var list = document.querySelector("ol.found");
  var root = new URL(".", document.querySelector("a.name").href);
  var most = 20;
  form.hidden = false;

  function load() {
    if (document.querySelector("script.index")) return;
    var script = document.createElement("script");
    script.className = "index";
    script.src = new URL("search-index.js", root);
    script.onload = show;
    script.onerror = function () { say("The index of the search cannot be read."); };
    document.head.append(script);
  }

  function say(text) {
    list.replaceChildren();
    list.append(Object.assign(document.createElement("li"), { className: "none", textContent: text }));
    list.hidden = false;
  }

  // score is how well a section answers: all words are in it, and those in headings and at the beginning of a word count more.
  function score(section, words) {
    var page = section.page.toLowerCase(), heading = section.heading.toLowerCase(), text = section.text.toLowerCase();
    var total = 0;
    for (var word of words) {
      var found = 0;
      if (heading.includes(word)) found += starts(heading, word) ? 40 : 20;
      if (page.includes(word)) found += starts(page, word) ? 20 : 10;
      if (text.includes(word)) found += starts(text, word) ? 5 : 1;
      if (!found) return 0;
      total += found;
    }
    if (words.length > 1 && (heading + " " + text).includes(words.join(" "))) total += 15;
    if (!heading && total >= 20) total += 10; // the page itself
    return total;
  }

  function starts(text, word) {
    for (var at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
    }
    return false;
  }

  // part is the text around the first word that it has.
  function part(text, words) {
    var lower = text.toLowerCase();
    var places = words.map(function (w) { return lower.indexOf(w); }).filter(function (at) { return at >= 0; });
    var at = places.length ? Math.max(0, Math.min.apply(null, places) - 50) : 0;
    if (at > 0) at = text.indexOf(" ", at) + 1;
    var end = text.indexOf(" ", at + 140);
    return (at > 0 ? "… " : "") + (end < 0 ? text.slice(at) : text.slice(at, end) + " …");
  }

  // mark puts each word into <mark>. Text becomes text, never markup.
  function mark(text, words) {
    var pattern = words.map(function (w) { return w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }).join("|");
    return text.split(new RegExp("(" + pattern + ")", "i")).map(function (piece, i) {
      if (i % 2 === 0) return document.createTextNode(piece);
      return Object.assign(document.createElement("mark"), { textContent: piece });
    });
  }

  function show() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    if (!words.length || !window.kanonSections) return;
    var found = window.kanonSections
      .map(function (section) { return { section: section, score: score(section, words) }; })
      .filter(function (f) { return f.score > 0; })
      .sort(function (a, b) { return b.score - a.score; });
    if (!found.length) return say("No page has all of these words.");
    list.replaceChildren();
    for (var f of found.slice(0, most)) {
      var link = document.createElement("a");
      link.href = new URL(f.section.to, root);
      var title = document.createElement("strong");
      title.append.apply(title, mark(f.section.page + (f.section.heading ? " › " + f.section.heading : ""), words));
      var text = document.createElement("span");
      text.append.apply(text, mark(part(f.section.text, words), words));
      link.append(title, text);
      var item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (found.length > most) {
      list.append(Object.assign(document.createElement("li"), { className: "none", textContent: "and " + (found.length - most) + " more: add a word" }));
    }
  }

  function move(step) {
    var links = Array.from(list.querySelectorAll("a"));
    var at = links.indexOf(document.activeElement) + step;
    (links[at] || (at < 0 ? input : links[links.length - 1]) || input).focus();
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", function () { load(); show(); });
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    var first = list.querySelector("a");
    if (first) first.click();
  });
  list.addEventListener("click", function () { list.hidden = true; });
  document.addEventListener("keydown", function (event) {
    var inside = event.target === input || list.contains(event.target);
    if (event.key === "/" && !inside && !/^(input|textarea|select)$/i.test(event.target.tagName)) {
      event.preventDefault();
      input.focus();
    } else if (inside && event.key === "Escape") {
      list.hidden = true;
      input.focus();
    } else if (inside && !list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
  });
  // A link to a search: ?q=words, where pages are served.
  var asked = new URLSearchParams(location.search).get("q");
  if (asked) { input.value = asked; input.focus(); load(); }
})();
