package shortschema

import (
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// applyAll applies the markers of a field to its schema. They override those of the field's type, which were applied
// before. A marker that is given twice is reported, unless it is repeatable.
func (r *Reader) applyAll(n *yamltree.Node, f *made, markers []marker, path []string) {
	for i, m := range markers {
		isSame := func(other marker) bool { return other.name == m.name }
		if !slices.Contains(repeatable, m.name) && slices.ContainsFunc(markers[:i], isSame) {
			r.reportPart(n, m.at, m.name, "%s is given twice", m.name).WithHint("remove one of them")
			continue
		}
		r.apply(n, f, m, path)
	}
}

// reportPart reports a problem with a part of a scalar's text, which begins at offset.
func (r *Reader) reportPart(n *yamltree.Node, offset int, part, format string, args ...any) *diagnostic.Finding {
	found := r.report(r.source.Within(n, offset), diagnostic.CodeShortMarker, format, args...)
	found.Length = r.source.Span(n, offset, len(part))
	return found
}

// apply applies a marker to a field.
func (r *Reader) apply(n *yamltree.Node, f *made, m marker, path []string) {
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
			r.reportPart(n, m.valueAt, m.value, "%s is true or false, and not %q", m.name, m.value)
		}
		if !is {
			f.unset(m.name)
			return
		}
	case !known.isFlag() && (!m.hasValue || m.value == "" && !m.quoted):
		r.reportPart(n, m.at, m.name, "%s has no value", m.name).WithHint("write %s=%s", m.name, known.Value)
		return
	case m.name == "default" && m.value == "null" && !m.quoted: // for the API server too, null means no default
		f.unset(m.name)
		return
	case m.inSingleQuotes():
		r.reportPart(n, m.valueAt, m.value, "single quotes would be a part of the value %s", m.value).
			WithHint("write %s=%q", m.name, m.value[1:len(m.value)-1])
		return
	}
	f.mark(m.name, r.source.Within(n, m.at))
	if err := known.set(f, m.value); err != nil {
		r.reportPart(n, m.valueAt, m.value, "%s", err.Error())
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
	found := r.reportPart(n, m.at, m.name, "%s is for %s, and this is %s", m.name, strings.Join(words, " or "), f.base)
	switch {
	case f.base == raw:
		found.WithHint("write it below openAPI")
	case f.base == boolean && m.name == "enum":
		found.WithHint("write {openAPI: {type: boolean, enum: [true]}}")
	}
}

// reportUnknown reports an unknown marker.
func (r *Reader) reportUnknown(n *yamltree.Node, m marker) {
	found := r.reportPart(n, m.at, m.name, "unknown marker %q", m.name)
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
