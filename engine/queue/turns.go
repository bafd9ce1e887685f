package queue

// turns is whose turn it is: a line of namespaces, and in each a line of rules. The zero value is empty.
type turns struct {
	namespaces []string
	rules      map[string][]string // by namespace; none is empty
}

// add puts a rule, which is in no line, at the end of that of its namespace, and a namespace that is in no line at the end of theirs.
func (t *turns) add(namespace, rule string) {
	if t.rules == nil {
		t.rules = make(map[string][]string)
	}
	if len(t.rules[namespace]) == 0 {
		t.namespaces = append(t.namespaces, namespace)
	}
	t.rules[namespace] = append(t.rules[namespace], rule)
}

// next takes the rule whose turn it is. The namespace goes to the end of the line if it has other rules. There must be a rule.
func (t *turns) next() (namespace, rule string) {
	namespace = t.namespaces[0]
	t.namespaces = t.namespaces[1:]
	rule = t.rules[namespace][0]
	t.rules[namespace] = t.rules[namespace][1:]
	if len(t.rules[namespace]) == 0 {
		delete(t.rules, namespace)
	} else {
		t.namespaces = append(t.namespaces, namespace)
	}
	return namespace, rule
}
