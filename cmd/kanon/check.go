package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/definitions"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
)

// input is a text that may hold rules.
type input struct {
	name string
	data []byte
	// named is true for a file that was asked for by its own name.
	named bool
}

// readInputs reads files, the YAML files below directories, and standard input,
// each once.
func readInputs(args []string, stdin io.Reader) ([]input, error) {
	return readFiles(args, stdin, ".yaml", ".yml")
}

// readSchemas reads what --schemas names, which may be JSON too.
func readSchemas(args []string, stdin io.Reader) ([]input, error) {
	return readFiles(args, stdin, ".yaml", ".yml", ".json")
}

func readFiles(args []string, stdin io.Reader, endings ...string) ([]input, error) {
	var inputs []input
	seen := map[string]bool{}
	add := func(path string, named bool) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		if path == "-" {
			data, err := io.ReadAll(stdin)
			inputs = append(inputs, input{name: "stdin", data: data, named: true})
			return err
		}
		data, err := os.ReadFile(path)
		inputs = append(inputs, input{name: path, data: data, named: named})
		return err
	}
	for _, arg := range args {
		files, err := filesOf(arg, endings)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, reasonOf(err))
		}
		for _, file := range files {
			if err := add(file, file == filepath.Clean(arg)); err != nil {
				return nil, fmt.Errorf("%s: %w", file, reasonOf(err))
			}
		}
	}
	return inputs, nil
}

// filesOf lists the file that an argument names, or those below a directory whose
// names end in a certain way, in the order of their names. What is hidden is left
// out.
func filesOf(arg string, endings []string) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	arg = filepath.Clean(arg)
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var files []string
	err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != arg && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !entry.IsDir() && slices.Contains(endings, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// check is what came out of looking at rules.
type check struct {
	findings rules.Findings
	// programs are those of the rules without errors.
	programs []*rules.Program
	// crds are the definitions beside the rules and in the schemas.
	crds []*unstructured.Unstructured
	// rules and files count the rules, and the files that have some or should.
	rules, files int
}

// checkRules decodes and compiles rules as the engine does, with the kinds that
// definitions beside them and in schemas add, and with what else o says. The error says that a schema cannot
// be read.
func checkRules(ctx context.Context, inputs, schemas []input, kinds *knownKinds, o rules.Options) (*check, error) {
	c := &check{}
	decoded := make([]rules.Documents, len(inputs))
	for i, in := range inputs {
		docs, findings := rules.DecodeManifest(in.name, in.data)
		kinds.define(docs.CRDs)
		c.crds = append(c.crds, docs.CRDs...)
		decoded[i] = docs
		findings = append(findings, refusedDefinitions(ctx, &docs)...)
		c.findings = append(c.findings, findings...)
		if len(findings)+len(docs.Rules) > 0 {
			c.files++
		}
	}
	for _, in := range schemas {
		if err := c.readSchema(in, kinds); err != nil {
			return nil, err
		}
	}
	for _, docs := range decoded {
		for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
			if err := kinds.load(ctx, rule.Kinds()); err != nil {
				return nil, err
			}
		}
	}
	names := map[types.NamespacedName]rules.Position{}
	var together []*rules.Rule
	for _, docs := range decoded {
		all := slices.Concat(docs.Rules, docs.Partial)
		for _, rule := range all {
			c.rule(rule, kinds, o)
			name := types.NamespacedName{Namespace: cmp.Or(rule.Namespace, o.Namespace), Name: rule.Name}
			if first, taken := names[name]; taken && rule.Name != "" {
				c.findings = append(c.findings, rule.Taken(name.String(), first))
				continue
			}
			names[name] = rule.Position
			if !rule.Suspend {
				together = append(together, rule)
			}
		}
		c.rules += len(all)
	}
	c.findings = append(c.findings, clashes(together, kinds)...)
	c.findings = c.findings.Sorted().Shortened()
	return c, nil
}

// refusedDefinitions says why the API server would not take the definitions beside rules.
func refusedDefinitions(ctx context.Context, docs *rules.Documents) rules.Findings {
	var findings rules.Findings
	for i, crd := range docs.CRDs {
		for _, p := range definitions.Check(ctx, crd) {
			place := rules.DefinitionPlace{Path: p.Path, Name: p.Name, Offset: p.Offset}
			findings = append(findings, docs.DefinitionFinding(i, place, p.Message))
		}
	}
	return findings
}

// clashes says which of the rules that would run at the same time do something to the same objects.
func clashes(together []*rules.Rule, kinds *knownKinds) rules.Findings {
	var findings rules.Findings
	for i, found := range rules.Clashes(together) {
		for _, clash := range found {
			if clash.ConditionsOf.Empty() || kinds.takesConditions(clash.ConditionsOf) {
				findings = append(findings, together[i].Clashing(clash))
			}
		}
	}
	return findings
}

// readSchema adds the kinds of a file with definitions, or of an OpenAPI document.
func (c *check) readSchema(in input, kinds *knownKinds) error {
	if isDocument(in.data) {
		if err := kinds.defineDocument(in.data); err != nil {
			return fmt.Errorf("--schemas %s: %w", in.name, err)
		}
		return nil
	}
	docs, findings := rules.Decode(in.name, in.data)
	kinds.define(docs.CRDs)
	c.crds = append(c.crds, docs.CRDs...)
	// What else may stand there was not asked about.
	c.findings = append(c.findings, slices.DeleteFunc(findings, func(f rules.Finding) bool {
		return !in.named || f.Code != diagnostic.CodeNotYAML && f.Code != diagnostic.CodeBrokenCRD
	})...)
	return nil
}

// isDocument says whether a text is an OpenAPI document, which is JSON, and not an
// object.
func isDocument(data []byte) bool {
	var content struct {
		OpenAPI    string          `json:"openapi"`
		Components json.RawMessage `json:"components"`
	}
	return json.Unmarshal(data, &content) == nil && (content.OpenAPI != "" || content.Components != nil)
}

func (c *check) rule(rule *rules.Rule, kinds *knownKinds, o rules.Options) {
	o.Kinds, o.Schemas = kinds, kinds
	program, findings := rules.Compile(rule, o)
	if program != nil {
		c.programs = append(c.programs, program)
	}
	for i, f := range findings {
		unknown := f.Code == diagnostic.CodeUncheckedKind || f.Code == diagnostic.CodeNoSchema && kinds.cluster == nil
		if unknown && f.Hint == "" {
			findings[i].Hint = "give its CustomResourceDefinition with --schemas, or ask the cluster with --cluster"
		}
	}
	c.findings = append(c.findings, findings...)
}

// summary is the last line of the output.
func (c *check) summary() string {
	number := map[rules.Severity]int{}
	for _, f := range c.findings {
		number[f.Severity] += f.Count()
	}
	found := []string{counted(number[rules.SeverityError], "error"), counted(number[rules.SeverityWarning], "warning")}
	found = slices.DeleteFunc(found, func(s string) bool { return strings.HasPrefix(s, "0 ") })
	if len(found) == 0 {
		found = []string{"nothing is wrong"}
	}
	return fmt.Sprintf("%s in %s: %s", counted(c.rules, "rule"), counted(c.files, "file"), strings.Join(found, ", "))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
