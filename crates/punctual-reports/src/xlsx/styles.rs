//! The formats of cells. A sheet names them by number, so they are collected while it is written.

use punctual_model::table::Kind;

/// Numbers of the formats that every program has: text, a date and a date with its time in the reader's own form.
const TEXT: usize = 49;
const DATE: usize = 14;
const DATE_TIME: usize = 22;
/// Own formats are numbered from here.
const OWN: usize = 164;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Style {
    format: usize,
    face: Face,
    /// What somebody types into the cell stays text too.
    quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Face {
    Plain,
    Header,
    Total,
}

pub(super) struct Styles {
    codes: Vec<String>,
    styles: Vec<Style>,
}

impl Default for Styles {
    fn default() -> Self {
        // The first is what cells have that say nothing.
        Self { codes: Vec::new(), styles: vec![Style { format: 0, face: Face::Plain, quoted: false }] }
    }
}

impl Styles {
    pub fn header(&mut self) -> usize {
        self.number_of(Style { format: TEXT, face: Face::Header, quoted: false })
    }

    pub fn text(&mut self, bold: bool, quoted: bool) -> usize {
        self.number_of(Style { format: TEXT, face: face(bold), quoted })
    }

    pub fn date(&mut self, with_time: bool, bold: bool) -> usize {
        let format = if with_time { DATE_TIME } else { DATE };
        self.number_of(Style { format, face: face(bold), quoted: false })
    }

    pub fn number(&mut self, kind: Kind, decimals: u32, bold: bool) -> usize {
        let mut code = if kind == Kind::Percent { "0".to_owned() } else { "#,##0".to_owned() };
        if decimals > 0 {
            code.push('.');
            code.extend(std::iter::repeat_n('0', decimals.min(15) as usize));
        }
        if kind == Kind::Percent {
            code.push('%');
        }
        let place = self.codes.iter().position(|known| *known == code).unwrap_or_else(|| {
            self.codes.push(code);
            self.codes.len() - 1
        });
        self.number_of(Style { format: OWN + place, face: face(bold), quoted: false })
    }

    fn number_of(&mut self, style: Style) -> usize {
        self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        })
    }

    pub fn xml(&self) -> String {
        let mut xml = String::from(concat!(
            r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#,
            "\n<styleSheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">"
        ));
        if !self.codes.is_empty() {
            xml += &format!(r#"<numFmts count="{}">"#, self.codes.len());
            for (place, code) in self.codes.iter().enumerate() {
                xml += &format!(r#"<numFmt numFmtId="{}" formatCode="{code}"/>"#, OWN + place);
            }
            xml += "</numFmts>";
        }
        xml += FIXED;
        xml += &format!(r#"<cellXfs count="{}">"#, self.styles.len());
        for style in &self.styles {
            let (font, fill, border) = match style.face {
                Face::Plain => (0, 0, 0),
                Face::Header => (1, 2, 1),
                Face::Total => (1, 0, 2),
            };
            let quoted = if style.quoted { r#" quotePrefix="1""# } else { "" };
            let format = style.format;
            xml += &format!(
                r#"<xf numFmtId="{format}" fontId="{font}" fillId="{fill}" borderId="{border}" xfId="0"{quoted} applyNumberFormat="1" applyFont="1" applyFill="1" applyBorder="1"/>"#
            );
        }
        xml += r#"</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#;
        xml
    }
}

fn face(bold: bool) -> Face {
    if bold { Face::Total } else { Face::Plain }
}

const FIXED: &str = concat!(
    r#"<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>"#,
    r#"<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill><fill><patternFill patternType="solid"><fgColor rgb="FFE8EEF2"/><bgColor indexed="64"/></patternFill></fill></fills>"#,
    r#"<borders count="3"><border><left/><right/><top/><bottom/><diagonal/></border><border><left/><right/><top/><bottom style="thin"><color rgb="FF8AA0AD"/></bottom><diagonal/></border><border><left/><right/><top style="thin"><color rgb="FF8AA0AD"/></top><bottom/><diagonal/></border></borders>"#,
    r#"<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>"#
);
