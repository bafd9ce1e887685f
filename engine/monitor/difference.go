package monitor

// difference says which informers to add and remove.
type difference struct {
	add, remove []Key
}

// differenceFrom compares the existing informers with what all owners want. No key occurs twice in the result.
func differenceFrom(have map[Key]*monitor, wanted map[string][]Key) difference {
	var d difference
	seen := make(map[Key]bool, len(have))
	for _, keys := range wanted {
		for _, key := range keys {
			if seen[key] {
				continue
			}
			seen[key] = true
			if _, ok := have[key]; !ok {
				d.add = append(d.add, key)
			}
		}
	}
	for key := range have {
		if !seen[key] {
			d.remove = append(d.remove, key)
		}
	}
	return d
}
