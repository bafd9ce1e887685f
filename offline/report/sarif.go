package report

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

// The part of SARIF 2.1.0 that findings need (OASIS, Static Analysis Results Interchange Format).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool sarifTool `json:"tool"`
		// ColumnKind says that columns count characters, not UTF-16 code units.
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		Help                 *sarifText         `json:"help,omitempty"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"` // exclusive
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// sarif is the report as a SARIF log with one run. It lists all codes as rules. Only codes with findings include their
// explanation.
func (r Report) sarif() sarifLog {
	run := sarifRun{
		Tool:       sarifTool{Driver: sarifDriver{Name: "kanon", Version: r.Version, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := make(map[diagnostic.Code]int)
	for i, info := range diagnostic.Codes() {
		index[info.Code] = i
		rule := sarifRule{
			ID:                   string(info.Code),
			ShortDescription:     sarifText{Text: info.Title},
			DefaultConfiguration: sarifConfiguration{Level: string(info.Severity)},
		}
		found := slices.ContainsFunc(r.Findings, func(f diagnostic.Finding) bool { return f.Code == info.Code })
		if page, ok := docs.Finding(string(info.Code)); ok && found {
			rule.Help = &sarifText{Text: docs.Plain(page), Markdown: page}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
	}
	for _, f := range r.Findings {
		message := f.Message
		if f.Hint != "" {
			message += "\n" + f.Hint
		}
		result := sarifResult{
			RuleID: string(f.Code), RuleIndex: index[f.Code], Level: string(f.Severity), Message: sarifText{Text: message},
		}
		if f.File != "" {
			result.Locations = []sarifLocation{location(f.Position, f.Length, f.Text)}
		}
		for _, related := range f.Related {
			l := location(related.Position, related.Length, related.Text)
			l.Message = &sarifText{Text: related.Label}
			result.Related = append(result.Related, l)
		}
		if f.Fix != nil {
			result.Fixes = []sarifFix{fix(f)}
		}
		run.Results = append(run.Results, result)
	}
	return sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
}

// fix converts the fix of a finding. All its edits are in the finding's file.
func fix(f diagnostic.Finding) sarifFix {
	change := sarifChange{Artifact: sarifArtifact{URI: fileURI(f.File)}}
	for _, e := range f.Fix.Edits {
		region := sarifRegion{StartLine: e.Line, StartColumn: e.Column, EndColumn: e.Column + utf8.RuneCountInString(e.Old)}
		change.Replacements = append(change.Replacements, sarifReplacement{Deleted: region, Inserted: sarifText{Text: e.New}})
	}
	return sarifFix{Description: sarifText{Text: f.Fix.Title}, Changes: []sarifChange{change}}
}

func location(at diagnostic.Position, length int, text string) sarifLocation {
	physical := &sarifPhysical{Artifact: sarifArtifact{URI: fileURI(at.File)}}
	if at.Line > 0 {
		physical.Region = &sarifRegion{StartLine: at.Line, StartColumn: at.Column}
		if at.Column > 0 && length > 0 {
			physical.Region.EndColumn = at.Column + length
		}
		if text != "" {
			physical.Region.Snippet = &sarifText{Text: text}
		}
	}
	l := sarifLocation{Physical: physical}
	if at.Path != "" {
		l.Logical = []sarifLogical{{FullyQualifiedName: at.Path}}
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
