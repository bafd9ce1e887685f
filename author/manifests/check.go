package manifests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Checked is the result of checking the rules in files.
type Checked struct {
	// Findings are sorted.
	Findings diagnostic.Findings
	// Programs are the compiled rules without errors. Decoded has the rule of each program.
	Programs []*program.Program
	Decoded  []*syntax.Rule
	// CRDs are the CustomResourceDefinitions in the files and in the schemas.
	CRDs []*unstructured.Unstructured
	// documents has the decoded documents of each file.
	documents []*syntax.Documents
	// Rules counts the rules. Files counts the files that contain rules or have findings.
	Rules, Files int
}

// Check decodes and compiles the rules in files as the engine does. kinds are extended by the definitions in files and
// in schemas. The error says that a schema cannot be read.
func Check(ctx context.Context, files, schemas []File, kinds *Kinds, o rules.Options) (*Checked, error) {
	c := &Checked{}
	decoded, beside := make([]*syntax.Documents, len(files)), []*syntax.Documents(nil)
	counts := make([]bool, len(files)) // the files that count for Files
	for i, in := range files {
		docs, findings := syntax.DecodeManifest(in.Name, in.Data)
		decoded[i] = &docs
		kinds.define(docs.CRDs)
		c.CRDs = append(c.CRDs, docs.CRDs...)
		c.Findings = append(c.Findings, findings...)
		counts[i] = len(findings)+len(docs.Rules) > 0
	}
	for _, in := range schemas {
		docs, err := c.readSchema(in, kinds)
		if err != nil {
			return nil, err
		}
		beside = append(beside, docs...)
	}
	for _, docs := range decoded {
		for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
			if err := kinds.load(ctx, rule.Kinds()); err != nil {
				return nil, err
			}
		}
	}
	c.documents = decoded
	c.infer(decoded, beside, kinds)
	for i, docs := range decoded {
		refused := refusedDefinitions(ctx, docs)
		c.Findings = append(c.Findings, refused...)
		if counts[i] || len(refused) > 0 {
			c.Files++
		}
	}
	names := map[types.NamespacedName]diagnostic.Position{}
	var together []*syntax.Rule
	for _, docs := range decoded {
		all := slices.Concat(docs.Rules, docs.Partial)
		slices.SortStableFunc(all, func(a, b *syntax.Rule) int { return cmp.Compare(a.Position.Line, b.Position.Line) })
		for _, rule := range all {
			c.rule(rule, kinds, o)
			name := types.NamespacedName{Namespace: cmp.Or(rule.Namespace, o.Namespace), Name: rule.Name}
			if first, taken := names[name]; taken && rule.Name != "" {
				c.Findings = append(c.Findings, rule.Taken(name.String(), first))
				continue
			}
			names[name] = rule.Position
			if !rule.Suspend {
				together = append(together, rule)
			}
		}
		c.Rules += len(all)
	}
	c.Findings = append(c.Findings, clashes(together, kinds)...)
	c.Findings = append(c.Findings, definedTwice(decoded)...)
	c.Findings = c.Findings.Sorted().Shortened()
	return c, nil
}

// infer completes the definitions that rules in files and in schemas make.
func (c *Checked) infer(decoded, beside []*syntax.Documents, kinds *Kinds) {
	inference := kinds.inference()
	inference.Infer(beside...) // findings in schemas are not reported
	for _, docs := range beside {
		kinds.define(c.others(docs))
	}
	findings := inference.Infer(decoded...)
	for i := range findings {
		if f := &findings[i]; f.Missing != nil {
			f.Hint += fmt.Sprintf("; if it comes from %s in %s, %s", f.Missing.Kind, f.Missing.GroupVersion(), kinds.howToKnow())
		}
	}
	c.Findings = append(c.Findings, findings...)
	for _, docs := range decoded {
		kinds.define(docs.CRDs)
	}
}

// inference takes built-in kinds from this program and never from the cluster, so that a definition is the same
// everywhere.
func (k *Kinds) inference() rules.Inference {
	return rules.Inference{Schemas: openapi.Layers{openapi.Builtin{}, k}}
}

// Infer completes the definitions of documents, as Check does. The error says that a schema cannot be read.
func Infer(ctx context.Context, docs *syntax.Documents, kinds *Kinds) (diagnostic.Findings, error) {
	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
		if err := kinds.load(ctx, rule.Kinds()); err != nil {
			return nil, err
		}
	}
	return kinds.inference().Infer(docs), nil
}

// refusedDefinitions says why the API server would refuse definitions in the files of rules.
func refusedDefinitions(ctx context.Context, docs *syntax.Documents) diagnostic.Findings {
	var findings diagnostic.Findings
	for i, crd := range docs.CRDs {
		for _, p := range definitions.Check(ctx, crd) {
			place := syntax.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}
			findings = append(findings, docs.DefinitionFinding(i, place, p.Message))
		}
	}
	return findings
}

// clashes finds rules that would run at the same time and write to the same objects in conflicting ways.
func clashes(together []*syntax.Rule, kinds *Kinds) diagnostic.Findings {
	var findings diagnostic.Findings
	for i, all := range rules.FindClashes(together) {
		for _, found := range all {
			if found.ConditionsOf.Empty() || kinds.TakesConditions(found.ConditionsOf) {
				findings = append(findings, found.Finding(together[i]))
			}
		}
	}
	return findings
}

// readSchema adds the kinds of a file with definitions, or of an OpenAPI document. It returns the documents of a file
// with definitions.
func (c *Checked) readSchema(in File, kinds *Kinds) ([]*syntax.Documents, error) {
	if isDocument(in.Data) {
		if err := kinds.defineDocument(in.Data); err != nil {
			return nil, fmt.Errorf("--schemas %s: %w", in.Name, err)
		}
		return nil, nil
	}
	docs, findings := syntax.Decode(in.Name, in.Data)
	others := c.others(&docs)
	kinds.define(others)
	c.CRDs = append(c.CRDs, others...)
	// Of a schema file, only broken YAML and broken definitions are reported, and only if the file was named.
	c.Findings = append(c.Findings, slices.DeleteFunc(findings, func(f diagnostic.Finding) bool {
		return !in.Named || f.Code != diagnostic.CodeNotYAML && f.Code != diagnostic.CodeBrokenCRD
	})...)
	return []*syntax.Documents{&docs}, nil
}

// others lists the definitions in a schema file, except those that a checked file has as well: these take precedence.
func (c *Checked) others(docs *syntax.Documents) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(docs.CRDs), func(crd *unstructured.Unstructured) bool {
		return slices.ContainsFunc(c.CRDs, func(own *unstructured.Unstructured) bool { return own != crd && own.GetName() == crd.GetName() })
	})
}

// isDocument reports whether a text is an OpenAPI document, which is JSON, and not an object.
func isDocument(data []byte) bool {
	var content struct {
		OpenAPI    string          `json:"openapi"`
		Components json.RawMessage `json:"components"`
	}
	return json.Unmarshal(data, &content) == nil && (content.OpenAPI != "" || content.Components != nil)
}

// Compile compiles a decoded rule. If the findings have errors, there is no program. The error says that a schema
// cannot be read.
func Compile(ctx context.Context, rule *syntax.Rule, kinds *Kinds, o rules.Options) (*program.Program, diagnostic.Findings, error) {
	if err := kinds.load(ctx, rule.Kinds()); err != nil {
		return nil, nil, err
	}
	var c Checked
	c.rule(rule, kinds, o)
	if len(c.Programs) == 0 {
		return nil, c.Findings, nil
	}
	return c.Programs[0], c.Findings, nil
}

func (c *Checked) rule(rule *syntax.Rule, kinds *Kinds, o rules.Options) {
	o.Kinds, o.Schemas = kinds, kinds
	program, findings := rules.Compile(rule, o)
	if program != nil {
		c.Programs, c.Decoded = append(c.Programs, program), append(c.Decoded, rule)
	}
	for i, f := range findings {
		unknown := f.Code == diagnostic.CodeUncheckedKind || f.Code == diagnostic.CodeNoSchema && kinds.cluster == nil
		if unknown && f.Hint == "" {
			findings[i].Hint = kinds.howToKnow()
		}
	}
	c.Findings = append(c.Findings, findings...)
}

// Summary summarises the rules, files and findings in one line.
func (c *Checked) Summary() string {
	number := map[diagnostic.Severity]int{}
	for _, f := range c.Findings {
		number[f.Severity] += f.Count()
	}
	found := []string{diagnostic.Counted(number[diagnostic.SeverityError], "error"), diagnostic.Counted(number[diagnostic.SeverityWarning], "warning")}
	found = slices.DeleteFunc(found, func(s string) bool { return strings.HasPrefix(s, "0 ") })
	if len(found) == 0 {
		found = []string{"nothing is wrong"}
	}
	return fmt.Sprintf("%s in %s: %s", diagnostic.Counted(c.Rules, "rule"), diagnostic.Counted(c.Files, "file"), strings.Join(found, ", "))
}

// definedTwice reports definitions that occur twice in the files and differ, as Kanon applies only one of them. Two
// rules with a schema for the same kind are reported by clashes.
func definedTwice(decoded []*syntax.Documents) diagnostic.Findings {
	type place struct {
		docs *syntax.Documents
		i    int
		text []byte
	}
	var findings diagnostic.Findings
	named := make(map[string][]place)
	for _, docs := range decoded {
		whole := docs.WholeCRDs()
		for i, crd := range docs.CRDs {
			if !slices.ContainsFunc(whole, func(other *unstructured.Unstructured) bool { return other == crd }) {
				continue
			}
			text, err := json.Marshal(crd.Object)
			if err != nil { // the API server refuses such a definition too
				continue
			}
			is := place{docs, i, text}
			for _, other := range named[crd.GetName()] {
				first, second := other, is
				if !docs.IsBeside(i) { // if a rule makes one of them, the finding is about the rule
					first, second = is, other
				}
				isOfRules := !docs.IsBeside(i) && !other.docs.IsBeside(other.i)
				if !isOfRules && !bytes.Equal(text, other.text) {
					findings = append(findings, first.docs.DefinedTwice(first.i, second.docs, second.i))
				}
			}
			named[crd.GetName()] = append(named[crd.GetName()], is)
		}
	}
	return findings
}
