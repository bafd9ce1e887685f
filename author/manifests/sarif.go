package manifests

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// fields are the fields of a JSON object.
type fields = map[string]any

// sarif is the report as a log of SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format) with one run. It lists
// all codes as rules. Only codes with findings include their explanation.
func (r Report) sarif() fields {
	codes, results := []fields{}, []fields{}
	index := make(map[diagnostic.Code]int)
	for i, info := range diagnostic.Codes() {
		index[info.Code] = i
		rule := fields{"id": info.Code, "shortDescription": text(info.Title), "defaultConfiguration": fields{"level": info.Severity}}
		found := slices.ContainsFunc(r.Findings, func(f diagnostic.Finding) bool { return f.Code == info.Code })
		if page, ok := docs.Finding(string(info.Code)); ok && found {
			rule["help"] = fields{"text": docs.Plain(page), "markdown": page}
		}
		codes = append(codes, rule)
	}
	for _, f := range r.Findings {
		message := f.Message
		if f.Hint != "" {
			message += "\n" + f.Hint
		}
		result := fields{"ruleId": f.Code, "ruleIndex": index[f.Code], "level": f.Severity, "message": text(message)}
		if f.File != "" {
			result["locations"] = []fields{location(f.Position, f.Length, f.Text)}
		}
		var related []fields
		for _, other := range f.Related {
			l := location(other.Position, other.Length, other.Text)
			l["message"] = text(other.Label)
			related = append(related, l)
		}
		if related != nil {
			result["relatedLocations"] = related
		}
		if f.Fix != nil {
			result["fixes"] = []fields{fix(f)}
		}
		results = append(results, result)
	}
	driver := fields{"name": "kanon", "rules": codes}
	if r.Version != "" {
		driver["version"] = r.Version
	}
	// Columns count characters, and not UTF-16 code units.
	run := fields{"tool": fields{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
	return fields{"$schema": sarifSchema, "version": "2.1.0", "runs": []fields{run}}
}

func text(s string) fields { return fields{"text": s} }

// fix converts the fix of a finding. All its edits are in the finding's file.
func fix(f diagnostic.Finding) fields {
	var replacements []fields
	for _, e := range f.Fix.Edits {
		region := fields{"startLine": e.Line, "startColumn": e.Column, "endColumn": e.Column + utf8.RuneCountInString(e.Old)} // exclusive
		replacements = append(replacements, fields{"deletedRegion": region, "insertedContent": text(e.New)})
	}
	change := fields{"artifactLocation": fields{"uri": fileURI(f.File)}, "replacements": replacements}
	return fields{"description": text(f.Fix.Title), "artifactChanges": []fields{change}}
}

func location(at diagnostic.Position, length int, line string) fields {
	physical := fields{"artifactLocation": fields{"uri": fileURI(at.File)}}
	if at.Line > 0 {
		region := fields{"startLine": at.Line}
		if at.Column > 0 {
			region["startColumn"] = at.Column
		}
		if at.Column > 0 && length > 0 {
			region["endColumn"] = at.Column + length
		}
		if line != "" {
			region["snippet"] = text(line)
		}
		physical["region"] = region
	}
	l := fields{"physicalLocation": physical}
	if at.Path != "" {
		l["logicalLocations"] = []fields{{"fullyQualifiedName": at.Path}}
	}
	return l
}

// fileURI is a path as a URI. Relative paths are relative to the working directory.
func fileURI(file string) string {
	slashed := filepath.ToSlash(file)
	u := url.URL{Path: slashed}
	if path.IsAbs(slashed) {
		u.Scheme = "file"
	}
	return u.String()
}
