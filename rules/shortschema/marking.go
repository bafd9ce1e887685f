package shortschema

import (
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// applyAll applies the markers of a field, each of which counts once. Those of the field count more than those of its type.
func (r *Reader) applyAll(n *yamltree.Node, f *made, markers []marker, path []string) {
	for i, m := range markers {
		isSame := func(other marker) bool { return other.name == m.name }
		if !slices.Contains(repeatable, m.name) && slices.ContainsFunc(markers[:i], isSame) {
			found := r.report(r.source.Within(n, m.at), diagnostic.CodeShortMarker, "%s is given twice", m.name)
			found.Length = r.source.Span(n, m.at, len(m.name))
			found.WithHint("remove one of them")
			continue
		}
		r.apply(n, f, m, path)
	}
}

// apply applies a marker to a field.
func (r *Reader) apply(n *yamltree.Node, f *made, m marker, path []string) {
	at := r.source.Within(n, m.at)
	known, ok := markerOf(m.name)
	if !ok {
		r.reportUnknown(n, m)
		return
	}
	if len(known.of) > 0 && !slices.Contains(known.of, f.base) {
		r.reportUnfit(n, f, m, known)
		return
	}
	switch {
	case known.isFlag() && m.hasValue:
		is, err := strconv.ParseBool(m.value)
		if err != nil {
			found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "%s is true or false, and not %q", m.name, m.value)
			found.Length = r.source.Span(n, m.valueAt, len(m.value))
		}
		if !is {
			f.unset(m.name)
			return
		}
	case !known.isFlag() && (!m.hasValue || m.value == "" && !m.quoted):
		found := r.report(at, diagnostic.CodeShortMarker, "%s has no value", m.name)
		found.Length = r.source.Span(n, m.at, len(m.name))
		found.WithHint("write %s=%s", m.name, known.Value)
		return
	case m.name == "default" && m.value == "null" && !m.quoted: // as the API server takes a default of null
		f.unset(m.name)
		return
	case m.inSingleQuotes():
		bare := m.value[1 : len(m.value)-1]
		found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "single quotes would be a part of the value %s", m.value)
		found.Length = r.source.Span(n, m.valueAt, len(m.value))
		found.WithHint("write %s=%q", m.name, bare)
		return
	}
	f.mark(m.name, r.source.Within(n, m.at))
	if err := known.set(f, m.value); err != nil {
		found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "%s", err.Error())
		found.Length = r.source.Span(n, m.valueAt, len(m.value))
		return
	}
	r.Mark(r.source.Within(n, m.valueAt), append(slices.Clone(path), m.name)...)
	if rules, _ := f.schema["x-kubernetes-validations"].([]any); m.name == "validation" {
		start := m.valueAt
		if m.quoted {
			start++
		}
		r.MarkText(n, start, append(slices.Clone(path), "x-kubernetes-validations", strconv.Itoa(len(rules)-1), "rule")...)
	}
}

// reportUnfit reports a marker that is not for the type of the field.
func (r *Reader) reportUnfit(n *yamltree.Node, f *made, m marker, known *Marker) {
	words := make([]string, len(known.of))
	for i, of := range known.of {
		words[i] = of.String()
	}
	found := r.report(r.source.Within(n, m.at), diagnostic.CodeShortMarker, "%s is for %s, and this is %s", m.name, strings.Join(words, " or "), f.base)
	found.Length = r.source.Span(n, m.at, len(m.name))
	switch {
	case f.base == raw:
		found.WithHint("write it below openAPI")
	case f.base == boolean && m.name == "enum":
		found.WithHint("write {openAPI: {type: boolean, enum: [true]}}")
	}
}

// reportUnknown reports a marker that nobody knows.
func (r *Reader) reportUnknown(n *yamltree.Node, m marker) {
	found := r.report(r.source.Within(n, m.at), diagnostic.CodeShortMarker, "unknown marker %q", m.name)
	found.Length = r.source.Span(n, m.at, len(m.name))
	var names []string
	for _, each := range Markers() {
		names = append(names, each.Name)
	}
	if other := foreignMarkers[m.name]; other != "" {
		found.WithHint("write %s", other)
	} else {
		found.Suggest(m.name, names)
	}
}
