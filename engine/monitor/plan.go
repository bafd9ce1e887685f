package monitor

// plan says how a set of informers becomes the wanted one.
type plan struct {
	add, remove []Key
}

// planFor compares the informers that exist with what all owners want together.
// No key occurs twice in the plan.
func planFor(have map[Key]*monitor, wanted map[string][]Key) plan {
	var p plan
	seen := make(map[Key]bool, len(have))
	for _, keys := range wanted {
		for _, key := range keys {
			if seen[key] {
				continue
			}
			seen[key] = true
			if _, ok := have[key]; !ok {
				p.add = append(p.add, key)
			}
		}
	}
	for key := range have {
		if !seen[key] {
			p.remove = append(p.remove, key)
		}
	}
	return p
}
