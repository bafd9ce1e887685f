package patching

import (
	"encoding/json"
	"fmt"
	"slices"

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

// Merge merges parts by the list keys of the kind's schema: containers with different names stay separate, and two
// parts that set fields of one container are combined. A part that sets a field to another value than a part before
// it is left out as a whole, because half of it may mean something else. merged is nil if there is nothing.
func Merge(parts []*Part) (merged *Part, leftOut []Contradiction, err error) {
	agreeing, leftOut, err := agree(parts)
	if err != nil || len(agreeing) == 0 {
		return nil, leftOut, err
	}
	if len(agreeing) == 1 {
		return agreeing[0], leftOut, nil
	}
	var shared []string
	for _, part := range agreeing {
		shared = append(shared, part.Shared...)
	}
	slices.Sort(shared)
	value, err := together(agreeing)
	if err != nil {
		return nil, nil, fmt.Errorf("merge patches: %w", fieldset.OneLine(err))
	}
	merged, err = newPart(agreeing[0].kind, value, slices.Compact(shared))
	return merged, leftOut, err
}

// together merges parts that agree. It divides in halves, so that thousands of parts cost little more than reading
// them.
func together(parts []*Part) (*typed.TypedValue, error) {
	if len(parts) == 1 {
		return parts[0].value, nil
	}
	first, err := together(parts[:len(parts)/2])
	if err != nil {
		return nil, err
	}
	second, err := together(parts[len(parts)/2:])
	if err != nil {
		return nil, err
	}
	return first.Merge(second)
}

// agree separates the parts that set no field to another value than an earlier part that is kept. Of parts with the
// same content it returns the first.
func agree(parts []*Part) (agreeing []*Part, leftOut []Contradiction, err error) {
	type claim struct {
		by    int
		value string
	}
	claims := make(map[string]claim)
	seen := make(map[string]*Contradiction, len(parts)) // by digest; nil for a part that is kept
	for i, part := range parts {
		if earlier, known := seen[part.Digest]; known {
			if earlier != nil {
				leftOut = append(leftOut, Contradiction{Part: i, Other: earlier.Other, Path: earlier.Path})
			}
			continue
		}
		content, own := part.AsObject(), make(map[string]string)
		contradiction := (*Contradiction)(nil)
		for path := range part.Paths.Leaves().All() {
			set, _ := fieldset.LookUp(content, path)
			text, err := json.Marshal(set)
			if err != nil {
				return nil, nil, fmt.Errorf("encode what a patch sets: %w", err)
			}
			name := path.String()
			own[name] = string(text)
			known, ok := claims[name]
			if ok && known.value != own[name] && (contradiction == nil || known.by < contradiction.Other) {
				contradiction = &Contradiction{Part: i, Other: known.by, Path: fieldset.PathText(path)}
			}
		}
		if seen[part.Digest] = contradiction; contradiction != nil {
			leftOut = append(leftOut, *contradiction)
			continue
		}
		agreeing = append(agreeing, part)
		for name, value := range own {
			if _, ok := claims[name]; !ok {
				claims[name] = claim{by: i, value: value}
			}
		}
	}
	return agreeing, leftOut, nil
}
