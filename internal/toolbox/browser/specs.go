package browser

import (
	"encoding/json"

	"towpath/internal/tool"
)

const urlInput = `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "description": "an address that search returned, such as library:guide/install.md"}
	},
	"required": ["url"],
	"additionalProperties": false
}`

func spec(name, title, description, input, output string) tool.Spec {
	return tool.Spec{Server: ServerName, Name: name, Title: title, Description: description,
		Input: json.RawMessage(input), Output: json.RawMessage(output), ReadOnly: true, Idempotent: true}
}

func snippetSpec() tool.Spec {
	return spec("fetch_snippet", "Read the beginning", "Reads the beginning of a document, or of the section that the address names. Says when it is cut.", urlInput, `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"truncated": {"type": "boolean"}, "url": {"type": "string"}, "title": {"type": "string"},
		"from": {"type": "integer"}, "shown": {"type": "integer"}, "total": {"type": "integer"}, "content": {"type": "string"}
	},
	"required": ["truncated", "url", "title", "from", "shown", "total", "content"],
	"additionalProperties": false
}`)
}

func urlsSpec() tool.Spec {
	return spec("fetch_urls", "List links", "Lists the links of a document with their texts.", urlInput, `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"truncated": {"type": "boolean"}, "url": {"type": "string"}, "title": {"type": "string"},
		"links": {"type": "array", "items": {
			"type": "object", "properties": {"text": {"type": "string"}, "url": {"type": "string"}}, "required": ["text", "url"], "additionalProperties": false
		}}
	},
	"required": ["truncated", "url", "title", "links"],
	"additionalProperties": false
}`)
}

func structureSpec() tool.Spec {
	return spec("fetch_structure", "List headings", "Lists the headings of a document, each with the #section for its address.", urlInput, `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"truncated": {"type": "boolean"}, "url": {"type": "string"}, "title": {"type": "string"},
		"headings": {"type": "array", "items": {
			"type": "object", "properties": {"level": {"type": "integer"}, "text": {"type": "string"}, "url": {"type": "string"}},
			"required": ["level", "text", "url"], "additionalProperties": false
		}}
	},
	"required": ["truncated", "url", "title", "headings"],
	"additionalProperties": false
}`)
}

func extractSpec() tool.Spec {
	return spec("extract", "Extract fields", "Finds named values in a document. A value that the document does not have is null.", `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "description": "an address that search returned, such as library:guide/install.md"},
		"schema": {
			"anyOf": [{"type": "object"}, {"type": "string"}],
			"description": "the fields: a JSON Schema, or an object of names and descriptions, such as {\"port\": \"number of the port\"}"
		}
	},
	"required": ["url", "schema"],
	"additionalProperties": false
}`, `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"url": {"type": "string"}, "title": {"type": "string"},
		"fields": {"type": "object"},
		"missing": {"type": "array", "items": {"type": "string"}},
		"unchecked": {"type": "array", "items": {"type": "string"}},
		"read_percent": {"type": "integer"}
	},
	"required": ["url", "title", "fields", "missing", "unchecked", "read_percent"],
	"additionalProperties": false
}`)
}

func summarizeSpec() tool.Spec {
	return spec("summarize", "Summarize", "Summarizes a document, or answers a question from it.", `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "description": "an address that search returned, such as library:guide/install.md"},
		"question": {"type": "string", "default": "", "description": "what you want to know; empty for a summary"}
	},
	"required": ["url"],
	"additionalProperties": false
}`, `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"url": {"type": "string"}, "title": {"type": "string"}, "question": {"type": "string"}, "summary": {"type": "string"},
		"read_percent": {"type": "integer"}, "cut": {"type": "boolean"}
	},
	"required": ["url", "title", "question", "summary", "read_percent", "cut"],
	"additionalProperties": false
}`)
}
