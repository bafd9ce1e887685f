package patchset

// Content identifies what is set: it is the same for two parts that say the same.
func (p *Part) Content() string { return p.Digest }
