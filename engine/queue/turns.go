package queue

import "slices"

// turns decides whose turn it is: it has a line of tenants, and for each a line of rules. The zero value is empty.
type turns struct {
	tenants []string
	rules   map[string][]string // by tenant; none is empty
}

// add appends a rule, which is in no line, to that of its tenant, and a tenant that is in no line to the line of
// tenants.
func (t *turns) add(tenant, rule string) {
	if t.rules == nil {
		t.rules = make(map[string][]string)
	}
	if len(t.rules[tenant]) == 0 {
		t.tenants = append(t.tenants, tenant)
	}
	t.rules[tenant] = append(t.rules[tenant], rule)
}

// next takes the rule whose turn it is. If its tenant has other rules, the tenant goes to the end of the line. There
// must be a rule.
func (t *turns) next() (tenant, rule string) {
	tenant = t.tenants[0]
	t.tenants = t.tenants[1:]
	rule = t.rules[tenant][0]
	t.rules[tenant] = t.rules[tenant][1:]
	if len(t.rules[tenant]) == 0 {
		delete(t.rules, tenant)
	} else {
		t.tenants = append(t.tenants, tenant)
	}
	return tenant, rule
}

// remove removes a tenant, and returns its rules.
func (t *turns) remove(tenant string) (rules []string) {
	if rules = t.rules[tenant]; len(rules) > 0 {
		t.tenants = slices.DeleteFunc(t.tenants, func(other string) bool { return other == tenant })
		delete(t.rules, tenant)
	}
	return rules
}
