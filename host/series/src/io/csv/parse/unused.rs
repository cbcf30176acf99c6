//! Looks into columns that no time, value or name is read from.

use super::{Parsed, Rows, UnusedDate, field};
use crate::io::columns::{UnusedField, is_missing};
use crate::io::zone_columns::{ZoneColumn, ZoneFound};

impl Rows<'_> {
    pub(super) fn find_texts_in_plain(&mut self, row: &[u8]) {
        let mut ends = std::mem::take(&mut self.ends);
        self.fields.ends_of_plain(row, &mut ends);
        if ends.len() == self.context.head.fields {
            self.find_texts(|column| field(row, &ends, column));
        }
        self.ends = ends;
    }

    /// Looks for texts and dates in columns that nothing is read from, and for zones of times.
    pub(super) fn find_texts<'r>(&mut self, field: impl Fn(usize) -> &'r [u8]) {
        self.find_zone(&field);
        let Parsed {
            texts,
            dates,
            times,
            ..
        } = &mut self.parsed;
        let point = times.len();
        // Those of a row before it that has no point.
        while dates.pop_if(|date| date.point == point).is_some() {}
        self.without_text.retain(|column| {
            let column = *column;
            match UnusedField::of(field(column)) {
                UnusedField::Text => texts.push(column),
                UnusedField::Date(date) => dates.push(UnusedDate {
                    column,
                    point,
                    date,
                }),
                UnusedField::Other => {}
            }
            !texts.contains(&column)
        });
    }

    /// Looks for the zone of a time without an offset.
    fn find_zone<'r>(&mut self, field: impl Fn(usize) -> &'r [u8]) {
        let head = self.context.head;
        let is_zone = |zone: &ZoneColumn| {
            let cell = field(zone.column).trim_ascii();
            !is_missing(cell) && zone.is_zone(cell)
        };
        if self.parsed.zone.is_some() || !head.zones.iter().any(is_zone) {
            return;
        }
        let clock = field(head.columns.time).trim_ascii();
        let time = match head.columns.date {
            Some(date) => [field(date).trim_ascii(), b" ", clock].concat(),
            None => clock.to_vec(),
        };
        if self.time_format.is_without_offset(&time)
            && let Some(position) = head.zones.iter().position(is_zone)
        {
            let cell = field(head.zones[position].column).trim_ascii();
            self.parsed.zone = Some(ZoneFound {
                position,
                time: String::from_utf8_lossy(&time).into_owned(),
                cell: String::from_utf8_lossy(cell).into_owned(),
            });
        }
    }
}
