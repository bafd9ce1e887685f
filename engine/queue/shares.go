package queue

// tenantShare is how many shares of a rule the rules of a tenant have together.
const tenantShare = 4

// shares knows how many keys of each rule and of each tenant are in work, and which rules are paused: they have keys,
// but they or their tenant have their share in work. So a rule whose requests hang delays only itself, and a tenant
// only its own rules. Make it with newShares.
type shares struct {
	share   int
	rules   map[string]*inWork
	tenants map[string]int
	// paused has the paused rules of each tenant, in the order in which they were paused, and isIn all of them.
	paused map[string][]string
	isIn   map[string]bool
}

// inWork is how many keys of a rule are in work, and the tenant for which they count.
type inWork struct {
	keys   int
	tenant string
}

func newShares(share int) shares {
	return shares{
		share: share, rules: make(map[string]*inWork), tenants: make(map[string]int),
		paused: make(map[string][]string), isIn: make(map[string]bool),
	}
}

// tenantOf returns the tenant of a rule. It does not change while keys of the rule are in work.
func (s *shares) tenantOf(rule string, otherwise func(rule string) string) string {
	if r := s.rules[rule]; r != nil {
		return r.tenant
	}
	return otherwise(rule)
}

// allow reports whether another key of a rule may be handed out.
func (s *shares) allow(tenant, rule string) bool {
	r := s.rules[rule]
	return !s.isFull(tenant) && (r == nil || r.keys < s.share)
}

// isFull reports whether a tenant has its share of keys in work.
func (s *shares) isFull(tenant string) bool { return s.tenants[tenant] >= tenantShare*s.share }

// begin records that a key of a rule is handed out.
func (s *shares) begin(tenant, rule string) {
	r := s.rules[rule]
	if r == nil {
		r = &inWork{tenant: tenant}
		s.rules[rule] = r
	}
	r.keys++
	s.tenants[r.tenant]++
}

// end ends what begin began, and returns the tenant.
func (s *shares) end(rule string) (tenant string) {
	r := s.rules[rule]
	if r.keys--; r.keys == 0 {
		delete(s.rules, rule)
	}
	if s.tenants[r.tenant]--; s.tenants[r.tenant] == 0 {
		delete(s.tenants, r.tenant)
	}
	return r.tenant
}

// pause records that a rule has keys and no turn.
func (s *shares) pause(tenant, rule string) {
	s.paused[tenant] = append(s.paused[tenant], rule)
	s.isIn[rule] = true
}

func (s *shares) isPaused(rule string) bool { return s.isIn[rule] }

// resume returns the paused rules of a tenant, which are no longer paused.
func (s *shares) resume(tenant string) []string {
	rules := s.paused[tenant]
	delete(s.paused, tenant)
	for _, rule := range rules {
		delete(s.isIn, rule)
	}
	return rules
}
