package patchset

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Contradiction is a field that two parts set to different values.
type Contradiction struct {
	// Part is the index of the part that is left out, and Other that of the part that it contradicts.
	Part, Other int
	// Path is the field, such as spec.replicas.
	Path string
}

// Merged is the result of merging parts. It is immutable.
type Merged struct {
	// Part has everything that the parts set, except those left out; nil if there is nothing.
	Part *Part
	// Contradictions has one entry for each part that is left out.
	Contradictions []Contradiction

	parts []*Part
	sum   sum
}

// Merge merges parts by the list keys of the kind's schema: containers with different names stay separate, and two
// parts that set fields of one container are combined. A part that sets a field to another value than a part before
// it is left out as a whole, because half of it may mean something else.
//
// before is the result of an earlier merge, or nil. If it already has some of the parts, only the others are added to
// it, in one pass over the fields: while thousands of parents patch one object, one of them changes at a time.
func Merge(before *Merged, parts []*Part) (*Merged, error) {
	if before != nil {
		if next, err := before.updatedWith(parts); next != nil || err != nil {
			return next, err
		}
	}
	return mergeAll(parts)
}

func mergeAll(parts []*Part) (*Merged, error) {
	m := &Merged{parts: parts}
	if len(parts) == 0 {
		return m, nil
	}
	var err error
	if m.sum, err = sumUpDistinct(parts); err != nil {
		return nil, err
	}
	if m.sum.isContradictory() {
		var agreeing []*Part
		if agreeing, m.Contradictions, err = agree(parts); err != nil {
			return nil, err
		}
		if m.sum, err = sumUpDistinct(agreeing); err != nil {
			return nil, err
		}
		if m.sum.isContradictory() {
			return nil, fmt.Errorf("merge patches: what sets the same fields to the same values is not the same")
		}
	}
	m.Part, err = m.sum.part()
	return m, err
}

// updatedWith returns the result for a changed list of parts. It returns nil if m does not help: if parts were
// removed, inserted or set other fields than before, if some contradict each other, and for parts with list items,
// whose order is that of the parts.
func (m *Merged) updatedWith(parts []*Part) (*Merged, error) {
	if m.Part == nil || len(m.Contradictions) > 0 || len(parts) < len(m.parts) {
		return nil, nil
	}
	var fresh []*Part
	for i, part := range parts {
		switch {
		case i < len(m.parts) && part.Same(m.parts[i]):
			continue
		case part.hasItems(), i < len(m.parts) && !m.mayReplace(m.parts[i], part):
			return nil, nil
		}
		fresh = append(fresh, part)
	}
	if len(fresh) == 0 {
		return &Merged{Part: m.Part, parts: parts, sum: m.sum}, nil
	}
	if 2*len(fresh) > len(parts) {
		return nil, nil // merging everything is no more work
	}
	added, err := sumUp(fresh)
	if err != nil || added.isContradictory() {
		return nil, err
	}
	next := &Merged{parts: parts}
	if len(parts) == len(m.parts) {
		next.sum, err = m.sum.overwrittenBy(added)
	} else {
		next.sum, err = m.sum.and(added)
	}
	if err != nil || next.sum.isContradictory() {
		return nil, err
	}
	if next.Part, err = next.sum.part(); err != nil {
		return nil, err
	}
	return next, nil
}

// mayReplace reports whether a part can overwrite its older version in m: it sets the same fields, and no other part
// sets the fields that it changes.
func (m *Merged) mayReplace(older, part *Part) bool {
	if !older.Paths.Equals(part.Paths) || !slices.Equal(older.Shared, part.Shared) {
		return false
	}
	difference, err := older.value.Compare(part.value)
	return err == nil && difference.Removed.Empty() && difference.Added.Empty() && m.sum.repeated.Intersection(difference.Modified).Empty()
}

// hasItems reports whether a part sets items of lists.
func (p *Part) hasItems() bool {
	found := len(p.Shared) > 0
	p.Paths.Iterate(func(path fieldpath.Path) {
		found = found || slices.ContainsFunc(path, func(element fieldpath.PathElement) bool { return element.FieldName == nil })
	})
	return found
}

// sum is the result of merging parts without contradictions. Its zero value stands for a contradiction.
type sum struct {
	kind  fieldset.Kind
	value *typed.TypedValue
	// paths are the leaves of any part, and repeated those of more than one. A field that is empty in one part but
	// not in another is no leaf.
	paths, repeated *fieldpath.Set
	shared          []string
	// of is the part, if there is only one.
	of *Part
}

func (s sum) isContradictory() bool { return s.value == nil }

// sumUpDistinct merges parts, many of which may have the same content.
func sumUpDistinct(parts []*Part) (sum, error) {
	count := make(map[string]int, len(parts))
	distinct := make([]*Part, 0, len(parts))
	for _, part := range parts {
		if count[part.Digest]++; count[part.Digest] == 1 {
			distinct = append(distinct, part)
		}
	}
	all, err := sumUp(distinct)
	if err != nil || all.isContradictory() {
		return sum{}, err
	}
	repeated := slices.DeleteFunc(distinct, func(part *Part) bool { return count[part.Digest] == 1 })
	all.repeated = all.repeated.Union(leavesOf(repeated))
	return all, nil
}

// leavesOf returns the union of the parts' leaves.
func leavesOf(parts []*Part) *fieldpath.Set {
	switch len(parts) {
	case 0:
		return &fieldpath.Set{}
	case 1:
		return parts[0].Paths.Leaves()
	}
	return leavesOf(parts[:len(parts)/2]).Union(leavesOf(parts[len(parts)/2:]))
}

// sumUp merges parts. It divides in halves, so that thousands of parts cost little more than reading them.
func sumUp(parts []*Part) (sum, error) {
	if len(parts) == 1 {
		p := parts[0]
		return sum{kind: p.kind, value: p.value, paths: p.Paths.Leaves(), repeated: &fieldpath.Set{}, shared: p.Shared, of: p}, nil
	}
	left, err := sumUp(parts[:len(parts)/2])
	if err != nil || left.isContradictory() {
		return sum{}, err
	}
	right, err := sumUp(parts[len(parts)/2:])
	if err != nil || right.isContradictory() {
		return sum{}, err
	}
	return left.and(right)
}

// and merges two sums.
func (s sum) and(other sum) (sum, error) {
	common := s.paths.Intersection(other.paths)
	if !common.Empty() {
		mine, theirs := s.value.ExtractItems(common, typed.WithAppendKeyFields()), other.value.ExtractItems(common, typed.WithAppendKeyFields())
		difference, err := mine.Compare(theirs)
		if err != nil {
			return sum{}, fmt.Errorf("compare patches: %w", fieldset.OneLine(err))
		}
		if !difference.Modified.Empty() {
			return sum{}, nil
		}
	}
	merged, err := s.overwrittenBy(other)
	merged.paths = s.paths.Union(other.paths).Leaves()
	merged.repeated = s.repeated.Union(other.repeated).Union(common)
	names := slices.Sorted(slices.Values(slices.Concat(s.shared, other.shared)))
	merged.shared = slices.Compact(names)
	return merged, err
}

// overwrittenBy returns s with the values of other. If other has more paths, the caller updates the other fields.
func (s sum) overwrittenBy(other sum) (sum, error) {
	value, err := s.value.Merge(other.value)
	if err != nil {
		return sum{}, fmt.Errorf("merge patches: %w", fieldset.OneLine(err))
	}
	s.value, s.of = value, nil
	return s, nil
}

func (s sum) part() (*Part, error) {
	if s.of != nil {
		return s.of, nil
	}
	return newPart(s.kind, s.value, s.shared)
}

// agree separates the parts that set no field to another value than an earlier part that is kept.
func agree(parts []*Part) (agreeing []*Part, contradictions []Contradiction, err error) {
	type claim struct {
		by    int
		value string
	}
	claims := make(map[string]claim)
	for i, part := range parts {
		content := part.AsObject()
		own := make(map[string]string)
		other, at := -1, ""
		for path := range part.Paths.Leaves().All() {
			set, _ := fieldset.LookUp(content, path)
			text, err := json.Marshal(set)
			if err != nil {
				return nil, nil, fmt.Errorf("encode what a patch sets: %w", err)
			}
			name := path.String()
			own[name] = string(text)
			if known, ok := claims[name]; ok && known.value != own[name] && (other < 0 || known.by < other) {
				other, at = known.by, fieldset.PathText(path)
			}
		}
		if other >= 0 {
			contradictions = append(contradictions, Contradiction{Part: i, Other: other, Path: at})
			continue
		}
		agreeing = append(agreeing, part)
		for name, value := range own {
			if _, ok := claims[name]; !ok {
				claims[name] = claim{by: i, value: value}
			}
		}
	}
	return agreeing, contradictions, nil
}
