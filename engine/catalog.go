package engine

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// catalog turns the texts of all sources into compiled rules and keeps the
// last good revision of each. It does no I/O. One goroutine owns it.
type catalog struct {
	// options are what rules are compiled with; they answer from memory.
	options rules.Options
	// origins has everything that the sources have, also what holds no text.
	origins map[source.Origin]bool
	// confirmations has what origins say of revisions that may delete.
	confirmations map[source.Origin]string
	texts         map[string]*textState
	entries       map[types.NamespacedName]*entry
	// complete is true where every source has been read, and every text understood:
	// a rule that is not in entries then is gone.
	complete bool
	// removed has the ids of rules that were in entries and are gone.
	removed map[string]bool
	// removals are those that are under way, by the rule's id.
	removals map[string]*removal
	// clashes are those of the rules that run.
	clashes clashes
	// awaits says what has to come before a revision with these kinds can be compiled,
	// which stands in text where that is not empty; empty: nothing.
	awaits func(text string, kinds []schema.GroupVersionKind) string
}

// textState is what became of one text.
type textState struct {
	origin source.Origin
	// created is when the origin was made, zero for a file.
	created  time.Time
	sum      [sha256.Size]byte
	docs     rules.Documents
	findings rules.Findings
	// definitions are the CustomResourceDefinitions in it; unfit says why some cannot be
	// applied.
	definitions []definition
	unfit       error
	// conflicts are found at each update: names that another text holds.
	conflicts rules.Findings
}

// kindSet is a set of kinds.
type kindSet map[schema.GroupVersionKind]bool

func (s kindSet) add(kinds []schema.GroupVersionKind) {
	for _, gvk := range kinds {
		s[gvk] = true
	}
}

// addGroups adds those of some kinds that are of certain groups.
func (s kindSet) addGroups(groups map[string]bool, kinds kindSet) {
	for gvk := range kinds {
		if groups[gvk.Group] {
			s[gvk] = true
		}
	}
}

// entry is one rule, by name, over its revisions.
type entry struct {
	id   string
	name types.NamespacedName
	// text names the text that holds the newest revision.
	text string
	// newest is the newest revision that could be decoded, and findings are
	// what the compilation of compiled found: newest, or the one before while newest has
	// to wait.
	newest, compiled *rules.Rule
	findings         rules.Findings
	// due and goodDue are true while newest, and good where that is another one, are to be
	// compiled; waits says what for, as far as newest is concerned.
	due, goodDue bool
	waits        string
	// good is the newest revision that compiled, as program. Both are nil
	// until one has.
	good    *rules.Rule
	program *rules.Program
}

func newCatalog(options rules.Options, awaits func(text string, kinds []schema.GroupVersionKind) string) *catalog {
	return &catalog{
		options: options, awaits: awaits,
		texts:   make(map[string]*textState),
		entries: make(map[types.NamespacedName]*entry),

		removed:  make(map[string]bool),
		removals: make(map[string]*removal),
	}
}

// compileAll compiles the rules of the texts that were read last, as far as they
// or the kinds that they use changed. changed has the kinds that did, or whose
// schema did, since the last call.
func (c *catalog) compileAll(changed kindSet) {
	claims := c.claims()
	for name, held := range claims {
		c.settle(name, held, changed)
	}
	for name, e := range c.entries {
		switch {
		case claims[name] != nil:
		case c.texts[e.text] != nil && c.texts[e.text].findings.HasErrors():
			// What a text that cannot be read whole used to hold is not
			// known to be gone.
			c.recompile(e, changed)
		default:
			delete(c.entries, name)
			c.removed[e.id] = true
		}
	}
}

// readTexts takes in what the sources hold now: it decodes the texts that are new
// or changed, drops those that are gone, and says whether there was a new one.
func (c *catalog) readTexts(snapshots []source.Snapshot) (news bool) {
	seen := make(map[string]bool)
	c.origins, c.confirmations = make(map[source.Origin]bool), make(map[source.Origin]string)
	for _, snapshot := range snapshots {
		for _, bundle := range snapshot.Bundles {
			c.origins[bundle.Origin], c.confirmations[bundle.Origin] = true, bundle.Confirmed
			for _, text := range bundle.Texts {
				seen[text.Name] = true
				sum := sha256.Sum256(text.Data)
				state := c.texts[text.Name]
				if state == nil || state.sum != sum || state.origin != bundle.Origin {
					state = &textState{origin: bundle.Origin, created: bundle.Created, sum: sum}
					state.docs, state.findings = c.decode(text)
					state.definitions, state.unfit = definitionsOf(text.Name, state.docs.CRDs)
					c.texts[text.Name] = state
					news = true
				}
				state.conflicts = nil
			}
		}
	}
	maps.DeleteFunc(c.texts, func(name string, _ *textState) bool { return !seen[name] })
	c.complete = !slices.ContainsFunc(snapshots, func(s source.Snapshot) bool { return !s.Complete }) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(c.texts)), func(s *textState) bool { return s.findings.HasErrors() })
	return news
}

// uses is the set of kinds that rules name, in the texts that were read last and in
// the revisions that run.
func (c *catalog) uses() kindSet {
	used := make(kindSet)
	for _, state := range c.texts {
		for _, rule := range state.docs.Rules {
			used.add(rule.Kinds())
		}
	}
	for _, e := range c.entries {
		used.add(e.uses())
	}
	return used
}

// decode reads a text. Of rules that could not be read whole it finds what else
// is wrong, except with their kinds: that would not be looked at again when the
// kinds change.
func (c *catalog) decode(text source.Text) (rules.Documents, rules.Findings) {
	decode := rules.Decode
	if text.Object {
		decode = rules.DecodeObject
	}
	docs, findings := decode(text.Name, text.Data)
	for _, partial := range docs.Partial {
		_, more := rules.Compile(partial, rules.Options{Namespace: c.options.Namespace, Limits: c.options.Limits})
		findings = append(findings, more...)
	}
	return docs, findings
}

// claim is one text's right to a rule's name.
type claim struct {
	text string
	rule *rules.Rule
}

// claims lists who holds each rule's name: files first, then the others by age,
// so that a restart makes no newcomer the first, and then by the texts' names.
func (c *catalog) claims() map[types.NamespacedName][]claim {
	claims := make(map[types.NamespacedName][]claim)
	order := slices.SortedFunc(maps.Keys(c.texts), func(a, b string) int {
		return cmp.Or(c.texts[a].created.Compare(c.texts[b].created), cmp.Compare(a, b))
	})
	for _, text := range order {
		for _, rule := range c.texts[text].docs.Rules {
			name := types.NamespacedName{Namespace: cmp.Or(rule.Namespace, c.options.Namespace), Name: rule.Name}
			claims[name] = append(claims[name], claim{text: text, rule: rule})
		}
	}
	return claims
}

// settle gives a name to one of those that hold it, the one that had it before
// if it is among them, and compiles what is new in it. For the others the name
// is a finding.
func (c *catalog) settle(name types.NamespacedName, held []claim, changed kindSet) {
	e := c.entries[name]
	if e == nil {
		e = &entry{id: mark.RuleID(c.options.Namespace, name.Namespace, name.Name), name: name}
		c.entries[name] = e
	}
	delete(c.removed, e.id)
	winner := max(0, slices.IndexFunc(held, func(h claim) bool { return h.text == e.text }))
	for i, h := range held {
		if i != winner {
			state := c.texts[h.text]
			state.conflicts = append(state.conflicts, h.rule.Taken(name.String(), held[winner].rule.Position))
		}
	}
	e.text = held[winner].text
	if e.newest != held[winner].rule {
		e.newest, e.due = held[winner].rule, true
	}
	c.recompile(e, changed)
}

// uses lists the kinds that the entry's newest revision and its last good one name.
func (e *entry) uses() []schema.GroupVersionKind {
	kinds := e.newest.Kinds()
	if e.good != nil && e.good != e.newest {
		kinds = append(kinds, e.good.Kinds()...)
	}
	return kinds
}

// recompile compiles an entry's revisions again where a kind that they use
// changed. A revision that does not compile may be about any kind: one that a
// finding should suggest, for example.
func (c *catalog) recompile(e *entry, changed kindSet) {
	touched := slices.ContainsFunc(e.uses(), func(k schema.GroupVersionKind) bool { return changed[k] })
	e.goodDue = e.goodDue || touched
	e.due = e.due || touched || (e.findings.HasErrors() && len(changed) > 0)
	c.compile(e)
}

// compile compiles what is due of an entry and need not wait.
func (c *catalog) compile(e *entry) {
	if e.goodDue && (e.program == nil || e.good == e.newest) {
		e.goodDue = false
	}
	if e.goodDue && c.awaits("", e.good.Kinds()) == "" {
		e.goodDue = false
		if program, _ := rules.Compile(e.good, c.options); program != nil {
			e.program = program
		}
	}
	if !e.due {
		return
	}
	if e.waits = c.awaits(e.text, e.newest.Kinds()); e.waits == "" {
		e.due = false
		c.compileNewest(e)
	}
}

// compileNewest compiles the newest revision, which becomes the one that runs unless
// something is wrong with it.
func (c *catalog) compileNewest(e *entry) {
	program, findings := rules.Compile(e.newest, c.options)
	e.compiled, e.findings = e.newest, findings
	if program != nil {
		e.good, e.program = e.newest, program
	}
}

// runnable is the program that should run now: the last good one, unless the
// cluster lacks the kind of its parents or the newest revision asks for a pause.
func (c *catalog) runnable(e *entry) *rules.Program {
	if e.program == nil || e.good.Suspend || c.isParentMissing(e) {
		return nil
	}
	return e.program
}

// isParentMissing tells whether the cluster lacks the kind of the parents of an entry's
// last good revision.
func (c *catalog) isParentMissing(e *entry) bool {
	_, ok := c.options.Kinds.Lookup(e.program.Parent().GVK)
	return !ok
}

// definitions lists the CustomResourceDefinitions of all texts.
func (c *catalog) definitions() []definition {
	var all []definition
	for _, state := range c.texts {
		all = append(all, state.definitions...)
	}
	return all
}
